import RelayCore

/// The requests of other threads to the forwarder, until its thread gets to them.
struct ForwarderInbox: Sendable {
  /// The running attempts to call off.
  enum Cancellation: Sendable {
    case none
    case some(Set<Serial>)
    case all
  }

  /// The kind of the thread's sleep.
  enum Sleep: Sendable {
    case none
    /// Asleep until a transfer needs something.
    case waiting
    /// Asleep whatever transfers need.
    case pausing
  }

  /// Attempts to begin, in this order, after ``cancellation``.
  private(set) var requests: [AttemptRequest] = []
  /// Running attempts to call off.
  private(set) var cancellation = Cancellation.none
  /// Attempts that were called off before they began.
  private(set) var withdrawn: [Serial] = []
  /// Questions for the progress of attempts.
  private(set) var questions: [ProgressQuery] = []
  /// Upstreams whose access tokens are asked for anew, before ``requests`` begin.
  private(set) var renewals: [UpstreamTarget] = []
  /// Parts of bodies that have come for running attempts.
  private(set) var arrivals: [BodyArrival] = []
  /// The upstreams that are configured from now on; nil if they have not changed.
  private(set) var targets: [UpstreamTarget]?
  /// Whether the thread is to end.
  private(set) var isStopping = false
  /// The thread's sleep, from which it has to be woken.
  var sleep = Sleep.none

  /// Whether there is nothing to do.
  var isEmpty: Bool {
    guard case .none = cancellation, targets == nil else { return false }
    return requests.isEmpty && withdrawn.isEmpty && questions.isEmpty && renewals.isEmpty
      && arrivals.isEmpty && !isStopping
  }

  /// Adds attempts to begin; false if the thread is ending.
  mutating func submit(_ new: [AttemptRequest]) -> Bool {
    guard !isStopping else { return false }
    requests.append(contentsOf: new)
    return true
  }

  /// Adds a question; false if the thread is ending, and nobody will answer.
  mutating func ask(_ question: ProgressQuery) -> Bool {
    guard !isStopping else { return false }
    questions.append(question)
    return true
  }

  /// Has an upstream's access token asked for anew.
  mutating func renew(_ target: UpstreamTarget) { renewals.append(target) }

  /// Adds a part of a body.
  mutating func arrive(_ arrival: BodyArrival) { arrivals.append(arrival) }

  /// Changes the configured upstreams.
  mutating func configure(_ targets: [UpstreamTarget]) { self.targets = targets }

  /// Calls off attempts that were submitted before.
  mutating func cancel(_ serials: some Sequence<Serial>) {
    let serials = Set(serials)
    withdraw { serials.contains($0) }
    switch cancellation {
    case .none: cancellation = .some(serials)
    case .some(let before): cancellation = .some(before.union(serials))
    case .all: break
    }
  }

  /// Calls off all attempts that were submitted before.
  mutating func cancelAll() {
    withdraw { _ in true }
    cancellation = .all
  }

  /// Calls everything off for good.
  mutating func stop() {
    cancelAll()
    isStopping = true
  }

  private mutating func withdraw(_ isMeant: (Serial) -> Bool) {
    withdrawn.append(contentsOf: requests.map(\.serial).filter(isMeant))
    requests.removeAll { isMeant($0.serial) }
  }

  /// Empties the inbox, whose thread counts as awake from then on.
  mutating func take() -> ForwarderInbox {
    let taken = self
    self = ForwarderInbox()
    isStopping = taken.isStopping
    return taken
  }
}

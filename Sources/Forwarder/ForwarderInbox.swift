import RelayCore

/// What other threads want of the forwarder, until its thread gets to it.
struct ForwarderInbox: Sendable {
  /// Which of the attempts under way are to be called off.
  enum Cancellation: Sendable {
    case none
    case some(Set<Serial>)
    case all
  }

  /// How the thread sleeps.
  enum Sleep: Sendable {
    case none
    /// Until a transfer needs something.
    case waiting
    /// Whatever transfers need.
    case pausing
  }

  /// Attempts to begin, in this order, once ``cancellation`` has been seen to.
  private(set) var requests: [AttemptRequest] = []
  /// Attempts to call off.
  private(set) var cancellation = Cancellation.none
  /// Attempts that were called off before they began.
  private(set) var withdrawn: [Serial] = []
  /// Who wants to know how far attempts have come.
  private(set) var questions: [ProgressQuestion] = []
  /// The upstreams that are configured from now on; nil if they are those of before.
  private(set) var targets: [UpstreamTarget]?
  /// Whether the thread is to end.
  private(set) var isStopping = false
  /// Whether the thread sleeps and has to be woken for this.
  var sleep = Sleep.none

  /// Whether there is nothing to do.
  var isEmpty: Bool {
    guard case .none = cancellation, targets == nil else { return false }
    return requests.isEmpty && withdrawn.isEmpty && questions.isEmpty && !isStopping
  }

  /// Adds attempts to begin; false if the thread is to end.
  mutating func submit(_ new: [AttemptRequest]) -> Bool {
    guard !isStopping else { return false }
    requests.append(contentsOf: new)
    return true
  }

  /// Adds a question; false if the thread is to end, and nobody will answer.
  mutating func ask(_ question: ProgressQuestion) -> Bool {
    guard !isStopping else { return false }
    questions.append(question)
    return true
  }

  /// Says which upstreams are configured from now on.
  mutating func configure(_ targets: [UpstreamTarget]) { self.targets = targets }

  /// Calls off what was submitted up to now.
  mutating func cancel(_ serials: some Sequence<Serial>) {
    let serials = Set(serials)
    withdraw { serials.contains($0) }
    switch cancellation {
    case .none: cancellation = .some(serials)
    case .some(let before): cancellation = .some(before.union(serials))
    case .all: break
    }
  }

  /// Calls off all that was submitted up to now.
  mutating func cancelAll() {
    withdraw { _ in true }
    cancellation = .all
  }

  /// Calls everything off, for good.
  mutating func stop() {
    cancelAll()
    isStopping = true
  }

  private mutating func withdraw(_ isMeant: (Serial) -> Bool) {
    withdrawn.append(contentsOf: requests.map(\.serial).filter(isMeant))
    requests.removeAll { isMeant($0.serial) }
  }

  /// Empties the inbox, whose thread counts as awake from now on.
  mutating func take() -> ForwarderInbox {
    let taken = self
    self = ForwarderInbox()
    isStopping = taken.isStopping
    return taken
  }
}

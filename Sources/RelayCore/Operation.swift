/// Something that is done with all envelopes that a filter matched, one by one.
package struct Operation: Sendable, Equatable {
  /// What is done with each.
  package enum Action: String, CaseIterable, Sendable {
    /// What blocks its lane is tried again as it is.
    case retry
    /// What blocks its lane becomes a dead letter, and the lane goes on.
    case discard
    /// What ended undelivered is put back in line.
    case requeue
    /// What waits, or ended undelivered, is taken back.
    case cancel

    /// The states that it can be done with.
    package var states: Set<EnvelopeState> {
      switch self {
      case .retry, .discard: [.blocked]
      case .requeue: [.failed, .expired, .cancelled]
      case .cancel: [.held, .queued, .parked, .delivering, .blocked, .failed, .expired]
      }
    }

    /// The states that are meant where none is named: never what somebody took back on purpose, and
    /// no dead letters unless they are what it is for.
    package var usualStates: Set<EnvelopeState> {
      switch self {
      case .retry, .discard: [.blocked]
      case .requeue: [.failed, .expired]
      case .cancel: [.held, .queued, .parked, .delivering, .blocked]
      }
    }
  }

  /// Which envelopes; what is nil is not asked about.
  package struct Filter: Sendable, Equatable {
    /// The client's name.
    package var client: String?
    /// The lane's name, in whichever client's lanes.
    package var lane: String?
    /// The upstream's name.
    package var upstream: String?
    /// The sender's own label.
    package var tag: String?
    /// In which of these states they are.
    package var states: Set<EnvelopeState>

    /// Puts a filter together.
    package init(
      client: String? = nil, lane: String? = nil, upstream: String? = nil, tag: String? = nil,
      states: Set<EnvelopeState>
    ) {
      self.client = client
      self.lane = lane
      self.upstream = upstream
      self.tag = tag
      self.states = states
    }

    /// Its states, in the order of an envelope's life, with commas in between.
    package var stateWords: String {
      EnvelopeState.allCases.filter { states.contains($0) }.map(\.rawValue).joined(separator: ",")
    }
  }

  /// How far it has come.
  package enum State: String, CaseIterable, Sendable {
    /// It goes on.
    case running
    /// All have had their turn.
    case done
    /// Somebody has stopped it.
    case stopped
    /// It ended before its time: the relay did, or its store was in trouble.
    case interrupted
  }

  /// Why some of them were left as they were.
  package struct Refusal: Sendable, Equatable {
    /// The problem, by the last part of its type.
    package var problem: String
    /// Of how many.
    package var count: Int
    /// One of them.
    package var example: EnvelopeID

    /// Puts the parts together.
    package init(problem: String, count: Int, example: EnvelopeID) {
      self.problem = problem
      self.count = count
      self.example = example
    }
  }

  /// Its number, from 1, which grows by one with each; 0 before it has one.
  package var number: Int64 = 0
  /// When it was asked for.
  package var startedAt: WallTime
  /// By whom: a name or an id that is no secret.
  package var who: String
  /// What is done.
  package var action: Action
  /// With which.
  package var filter: Filter
  /// How many the filter matched when it began: with these, and no others, it is done.
  package var matched: Int
  /// Whether there were more than one operation takes.
  package var hasMore: Bool
  /// With how many it is done.
  package private(set) var done = 0
  /// How many were left as they were.
  package private(set) var failed = 0
  /// How far it has come.
  package private(set) var state = State.running
  /// When it ended; nil while it runs.
  package private(set) var endedAt: WallTime?
  /// Why some were left as they were; at most ``refusalsMax`` kinds.
  package private(set) var refusals: [Refusal] = []

  /// The most kinds of refusals that are told apart.
  package static let refusalsMax = 16

  /// One that begins.
  package init(
    _ action: Action, _ filter: Filter, matched: Int, hasMore: Bool, who: String, at time: WallTime
  ) {
    self.action = action
    self.filter = filter
    self.matched = matched
    self.hasMore = hasMore
    self.who = who
    startedAt = time
  }

  /// One as it was kept.
  package init(
    _ begun: Operation, number: Int64, done: Int, failed: Int, state: State, endedAt: WallTime?,
    refusals: [Refusal]
  ) {
    self = begun
    self.number = number
    self.done = done
    self.failed = failed
    self.state = state
    self.endedAt = endedAt
    self.refusals = refusals
  }

  /// One more has had its turn.
  package mutating func noteDone() { done += 1 }

  /// One more was left as it was.
  package mutating func noteFailed(_ id: EnvelopeID, problem: String) {
    failed += 1
    if let place = refusals.firstIndex(where: { $0.problem == problem }) {
      refusals[place].count += 1
    } else if refusals.count < Self.refusalsMax {
      refusals.append(Refusal(problem: problem, count: 1, example: id))
    }
  }

  /// It is over; it stays as it ended first.
  package mutating func end(as state: State, at time: WallTime) {
    guard self.state == .running else { return }
    self.state = state
    endedAt = time
  }
}

/// What bounds operations.
package enum OperationLimits {
  /// How many run at once.
  package static let runningMax = 4
  /// With how many envelopes one is done; for more there is another one.
  package static let envelopesMax = 50_000
  /// How many envelopes of one have their turn at once.
  package static let atOnce = 16
  /// The pause of one after these, in milliseconds, so that others have their turn.
  package static let pauseMs: Int64 = 1
  /// How many are remembered; then the oldest go.
  package static let keptMax = 100
}

/// Where it is kept what operations there were, and how far they came: durable, and bounded.
///
/// All calls may come from any thread. What returns is on disk.
package protocol OperationStore: Sendable {
  /// Remembers one that begins. Once there are more than are kept, the oldest go.
  ///
  /// - Returns: Its number.
  func beginOperation(_ operation: Operation) async throws(StoreError) -> Int64

  /// Remembers how far one has come; nothing if it is not kept any more.
  func noteOperation(_ operation: Operation) async throws(StoreError)

  /// Those that are remembered as running are interrupted: their process is gone.
  func interruptOperations(at time: WallTime) async throws(StoreError)

  /// Those that are remembered, the newest first.
  func operations() async throws(StoreError) -> [Operation]
}

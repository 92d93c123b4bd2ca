/// An action that is carried out on all envelopes that a filter matched, one by one.
package struct Operation: Sendable, Equatable {
  /// The action on each envelope.
  package enum Action: String, CaseIterable, Sendable {
    /// Try envelopes that block their lanes again as they are.
    case retry
    /// Make envelopes that block their lanes dead letters, so that the lanes go on.
    case discard
    /// Put envelopes that ended undelivered back in line.
    case requeue
    /// Cancel envelopes that wait or ended undelivered.
    case cancel
    /// Send what was delivered once more, as new envelopes in lanes of their own.
    case replay

    /// The states in which an envelope can be acted on.
    package var states: Set<EnvelopeState> {
      switch self {
      case .retry, .discard: [.blocked]
      case .requeue: [.failed, .expired, .cancelled]
      case .cancel: EnvelopeState.waiting.union([.failed, .expired])
      case .replay: [.delivered]
      }
    }

    /// The states that are meant if none is named: never cancelled envelopes, and dead letters only
    /// for a requeue.
    package var usualStates: Set<EnvelopeState> {
      switch self {
      case .retry, .discard: [.blocked]
      case .requeue: [.failed, .expired]
      case .cancel: EnvelopeState.waiting
      case .replay: [.delivered]
      }
    }
  }

  /// The state of an operation.
  package enum State: String, CaseIterable, Sendable {
    /// It is being carried out.
    case running
    /// All its envelopes have had their turn.
    case done
    /// Somebody has stopped it.
    case stopped
    /// It ended early: the relay ended, or its store was in trouble.
    case interrupted
  }

  /// The reason that some envelopes were left unchanged.
  package struct Refusal: Sendable, Equatable {
    /// The problem: the last part of its type.
    package var problem: String
    /// The number of envelopes.
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

  /// Its number, from 1; each operation has the next one.
  ///
  /// 0 before it has one.
  package var number: Int64 = 0
  /// The time of the request.
  package var startedAt: WallTime
  /// The operator: a name or an id that is no secret.
  package var who: String
  /// The action.
  package var action: Action
  /// The envelopes that were asked for.
  package var filter: EnvelopeSelection
  /// The number of envelopes that the filter matched at the beginning: the operation acts on these
  /// and no others.
  package var matched: Int
  /// Whether there were more than one operation takes.
  package var hasMore: Bool
  /// Whether a replay sends a fresh `Idempotency-Key` instead of the one that was sent before.
  package var hasFreshKeys = false
  /// The number of envelopes that were acted on.
  package private(set) var done = 0
  /// The number of envelopes that were left unchanged.
  package private(set) var failed = 0
  /// Its state.
  package private(set) var state = State.running
  /// The time when it ended; nil while it runs.
  package private(set) var endedAt: WallTime?
  /// The reasons that envelopes were left unchanged; at most ``refusalsMax`` kinds.
  package private(set) var refusals: [Refusal] = []

  /// The most kinds of refusals that are told apart.
  package static let refusalsMax = 16

  /// Begins an operation.
  package init(
    _ action: Action, _ filter: EnvelopeSelection, matched: Int, hasMore: Bool, who: String,
    at time: WallTime
  ) {
    self.action = action
    self.filter = filter
    self.matched = matched
    self.hasMore = hasMore
    self.who = who
    startedAt = time
  }

  /// Restores a stored operation.
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

  /// Notes that an envelope was acted on.
  package mutating func noteDone() { done += 1 }

  /// Notes that an envelope was left unchanged.
  package mutating func noteFailed(_ id: EnvelopeID, problem: String) {
    failed += 1
    if let place = refusals.firstIndex(where: { $0.problem == problem }) {
      refusals[place].count += 1
    } else if refusals.count < Self.refusalsMax {
      refusals.append(Refusal(problem: problem, count: 1, example: id))
    }
  }

  /// Ends the operation; does nothing if it has ended.
  package mutating func end(as state: State, at time: WallTime) {
    guard self.state == .running else { return }
    self.state = state
    endedAt = time
  }
}

/// The limits of operations.
package enum OperationLimits {
  /// The most operations running at once.
  package static let runningMax = 4
  /// The most envelopes of one operation; the rest needs another one.
  package static let envelopesMax = 50_000
  /// The number of envelopes of one operation that are acted on at once.
  package static let atOnce = 16
  /// The pause after that many, in milliseconds, so that others have their turn.
  package static let pauseMs: Int64 = 1
  /// The number of operations that are kept; older ones are deleted.
  package static let keptMax = 100
}

/// One use of a store by one process, from its opening to its end.
///
/// Several may use a store at once. What one of them does is known by its incarnation, never by a
/// name, which the next process has as well.
package struct Incarnation: Hashable, Sendable {
  /// The store's number of it.
  package var rawValue: Int64

  /// Takes such a number.
  package init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A store of operations and their progress: durable, and bounded.
///
/// All calls may come from any thread. When a call returns, its change is on disk.
package protocol OperationStore: Sendable {
  /// Stores an operation that begins. Beyond the number that is kept, the oldest are deleted.
  ///
  /// - Returns: Its number.
  func beginOperation(_ operation: Operation) async throws(StoreError) -> Int64

  /// Stores the progress of an operation; does nothing if it is not kept any more.
  func noteOperation(_ operation: Operation) async throws(StoreError)

  /// The incarnation that calls to this store are made by; an operation that they begin is its.
  var incarnation: Incarnation { get }

  /// The incarnations that have ended for good, and may have left operations that are stored as
  /// running.
  func endedIncarnations() async throws(StoreError) -> [Incarnation]

  /// Marks operations of an incarnation that are stored as running as interrupted; no others.
  func interruptOperations(
    of incarnation: Incarnation, at time: WallTime
  ) async throws(StoreError)

  /// The stored operations, the newest first.
  func operations() async throws(StoreError) -> [Operation]
}

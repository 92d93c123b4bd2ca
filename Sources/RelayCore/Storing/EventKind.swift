/// The kind of an event: its name.
///
/// To add a kind:
/// 1. Add a case here, with its name as listeners see it, and its ``record``.
/// 2. Give it a code of its own in `EventKind+Code.swift`. No code is ever used again.
/// 3. Have each store log it in the transaction that makes it true: SQLite's writer by
///    `log(EventEntry(.kind, …))`, PostgreSQL's among the events of what it writes. An event that
///    belongs to no transaction is handed to ``EnvelopeStore/note(_:)``.
/// 4. Describe it in the table of `docs/protocol.md` and in `openapi.yaml` (`EventName`), which a
///    test compares with the kinds.
package enum EventKind: String, Sendable, CaseIterable {
  /// An envelope was accepted.
  case accepted
  /// An attempt ended without a result, so that the envelope is tried again.
  case attempted
  /// The upstream refused an envelope, and its lane stands.
  case blocked
  /// The upstream took an envelope.
  case delivered
  /// The upstream refused an envelope, or somebody discarded it.
  case failed
  /// An envelope's deadline passed.
  case expired
  /// Somebody cancelled an envelope.
  case cancelled
  /// Somebody ran an envelope, or has it tried again.
  case released
  /// Somebody corrected an envelope.
  case edited
  /// An envelope had ended, and waits again.
  case requeued
  /// A parked envelope stands in line now: the sequence numbers before its own have come, or are no
  /// longer waited for.
  case placed
  /// A lane no longer waits for some sequence numbers: ``EventEntry/numbers`` are the first and the
  /// last of them.
  case gapSkipped
  /// A later post replaced an envelope's content.
  case coalesced
  /// Somebody paused an upstream, a client or a lane.
  case paused
  /// Somebody ended a pause.
  case resumed
  /// An upstream's lanes stop trying, since it cannot be reached.
  case unreachable
  /// An upstream can be reached again.
  case reachable
  /// The relay was started; every upstream counts as reachable until it turns out otherwise.
  case started

  /// What is known of each kind.
  package struct Record: Sendable {
    /// The envelope's state after the event; nil where the entry says it, or no envelope is meant.
    package let state: EnvelopeState?
    /// What listeners call the ``EventEntry/numbers``, in their order.
    package let numbers: [String]

    fileprivate init(_ state: EnvelopeState? = nil, numbers: [String] = []) {
      self.state = state
      self.numbers = numbers
    }
  }

  /// The kind's record.
  package var record: Record {
    switch self {
    case .attempted, .released: Record(.queued)
    case .blocked: Record(.blocked)
    case .delivered: Record(.delivered)
    case .failed: Record(.failed)
    case .expired: Record(.expired)
    case .cancelled: Record(.cancelled)
    case .gapSkipped: Record(numbers: ["first", "last"])
    case .accepted, .edited, .requeued, .placed, .coalesced, .paused, .resumed, .unreachable,
      .reachable, .started:
      Record()
    }
  }

  /// The envelope's state after the event; nil where the entry says it, or no envelope is meant.
  package var state: EnvelopeState? { record.state }
}

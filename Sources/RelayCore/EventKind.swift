/// What has happened, in one word: the name of an event.
///
/// To add a kind:
/// 1. Add a case here, with its name as listeners see it, and what it leaves an envelope as
///    (``state``).
/// 2. Give it a code of its own in `SQLiteStore/EventCodes.swift`; codes are never used again.
/// 3. Have the store log it in the transaction that makes it true: in the writer,
///    `state.events.append(EventEntry(.kind, …))`, nothing more. What belongs to no transaction is
///    handed to ``EnvelopeStore/note(_:)``.
/// 4. Describe it in the table of `docs/protocol.md` and in `openapi.yaml` (`EventName`), where a
///    test looks for it.
///
/// What a kind has to say beside who it is about goes into ``EventEntry/numbers`` and is named in
/// `RelayServer/Views/EventView`.
package enum EventKind: String, Sendable, CaseIterable {
  /// An envelope was accepted.
  case accepted
  /// An attempt showed nothing of the envelope: it is tried again.
  case attempted
  /// The upstream refused it, and its lane stands.
  case blocked
  /// The upstream took it.
  case delivered
  /// The upstream refused it, or somebody discarded it.
  case failed
  /// Its deadline passed.
  case expired
  /// Somebody took it back.
  case cancelled
  /// Somebody ran it, or has it tried again.
  case released
  /// Somebody corrected it.
  case edited
  /// It had ended, and waits again.
  case requeued
  /// The sequence numbers before its own have come, or are waited for no longer: what was parked
  /// stands in line now.
  case placed
  /// A lane waits no longer for some sequence numbers: ``EventEntry/numbers`` are the first and the
  /// last of them.
  case gapSkipped
  /// A later post took its place.
  case coalesced
  /// Somebody paused an upstream, a client or a lane.
  case paused
  /// Somebody ended such a pause.
  case resumed
  /// An upstream's lanes stop trying, since it cannot be reached.
  case unreachable
  /// An upstream is back.
  case reachable
  /// The relay was started; every upstream counts as reachable until it turns out otherwise.
  case started

  /// Where the envelope is after it; nil where the entry says that, or no envelope is meant.
  package var state: EnvelopeState? {
    switch self {
    case .attempted, .released: .queued
    case .blocked: .blocked
    case .delivered: .delivered
    case .failed: .failed
    case .expired: .expired
    case .cancelled: .cancelled
    case .accepted, .edited, .requeued, .placed, .gapSkipped, .coalesced, .paused, .resumed,
      .unreachable, .reachable, .started:
      nil
    }
  }
}

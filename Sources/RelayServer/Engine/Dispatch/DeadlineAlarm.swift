import RelayCore
import Synchronization

/// The earliest deadline that the janitor has to see to, kept up to date as envelopes come in.
final class DeadlineAlarm: Sendable {
  private struct State {
    var earliest: WallTime?
    var onEarlier: (@Sendable (WallTime) -> Void)?
  }

  private let state = Mutex(State())

  /// Calls `action` now, if a deadline is known, and whenever an earlier one comes in.
  func onEarlier(_ action: @escaping @Sendable (WallTime) -> Void) {
    let earliest = state.withLock { state in
      state.onEarlier = action
      return state.earliest
    }
    if let earliest { action(earliest) }
  }

  /// A deadline came in.
  func note(_ deadline: WallTime) {
    let action = state.withLock { state -> (@Sendable (WallTime) -> Void)? in
      if let earliest = state.earliest, earliest <= deadline { return nil }
      state.earliest = deadline
      return state.onEarlier
    }
    action?(deadline)
  }

  /// Calls the action again for the earliest deadline, if one is known.
  func repeatEarliest() {
    let (earliest, action) = state.withLock { ($0.earliest, $0.onEarlier) }
    if let earliest { action?(earliest) }
  }

  /// Forgets what is known, since the store is about to be looked at anew.
  func reset() { state.withLock { $0.earliest = nil } }
}

extension DeadlineAlarm: CommitListener {
  /// Notes the earliest deadline that came in.
  func committed(_ commit: Commit, at now: Now) {
    var earliest: WallTime?
    func note(_ entry: LineEntry) { earliest = min(earliest ?? entry.expiresAt, entry.expiresAt) }
    for change in commit.changes {
      switch change {
      case .changed(let transitions):
        for transition in transitions {
          switch transition.change {
          case .edit(let edit): note(edit.entry)
          case .requeue(let entry): note(entry)
          case .begin, .retry, .block, .end, .release: break
          }
        }
      case .coalesced(let envelopes): for envelope in envelopes { note(envelope.entry) }
      case .accepted(let envelopes): for envelope in envelopes { note(envelope.entry) }
      case .unwritten, .endsChanged, .cleared: break
      }
    }
    if let earliest { self.note(earliest) }
  }
}

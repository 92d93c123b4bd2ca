#if PostgreSQL
import RelayCore

// What posts add, and change.
extension PostRows {
  /// How the counts of the store change.
  ///
  /// - Parameter replaced: The places that replaced envelopes had.
  func count(_ counts: inout StoreCounts, replaced: [Serial: WaitingRow]) {
    for insert in inserts.values {
      counts.standing[insert.entry.standing, default: 0] += 1
      counts.contentBytes += insert.draft.content.byteCount
    }
    for (serial, plan) in replaces {
      guard let before = replaced[serial] else { continue }
      counts.standing[before.entry.standing, default: 0] -= 1
      counts.standing[plan.edit.entry.standing, default: 0] += 1
      counts.contentBytes += plan.edit.content.byteCount - before.bytes
    }
    for move in moves where move.waits {
      counts.standing[.parked, default: 0] -= 1
      counts.standing[move.standing, default: 0] += 1
    }
  }

  /// By how much what waits of each client changes.
  ///
  /// - Parameter replaced: The places that replaced envelopes had.
  func count(_ use: inout [ClientNumber: WaitingUse], replaced: [Serial: WaitingRow]) {
    for insert in inserts.values {
      use[insert.entry.client, default: WaitingUse()] += WaitingUse(
        count: 1, bytes: insert.draft.content.byteCount)
    }
    for (serial, plan) in replaces {
      guard let before = replaced[serial] else { continue }
      use[before.entry.client, default: WaitingUse()] += WaitingUse(
        bytes: plan.edit.content.byteCount - before.bytes)
    }
  }
}
#endif

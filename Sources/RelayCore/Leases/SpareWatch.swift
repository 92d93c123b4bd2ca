/// What a spare relay sees of the seat that has the store: whether it may be taken.
///
/// A value that is told what stands in the table and the time, which is that of a clock that also
/// counts while the machine sleeps (`CLOCK_BOOTTIME`). No clock of another machine decides.
package struct SpareWatch: Sendable {
  private let limits: LeaseLimits
  private var beats: [Int64: (at: Int64, since: MonotonicTime)] = [:]
  /// Whether the table was ever read.
  private var hasSeen = false
  /// Since when the database refuses what it did not refuse before.
  private var refusedSince: MonotonicTime?

  /// Begins to watch.
  package init(_ limits: LeaseLimits = LeaseLimits()) { self.limits = limits }

  /// Notes the seats that stand.
  ///
  /// - Returns: Those that stand still for as long as the TTL, if all do: the store may be taken
  ///   from them. Nil if one of them beats.
  package mutating func see(_ seats: [SeatBeats], at now: MonotonicTime) -> [SeatBeats]? {
    var seen: [Int64: (at: Int64, since: MonotonicTime)] = [:]
    for seat in seats {
      let known = beats[seat.incarnation.rawValue].flatMap { $0.at == seat.beats ? $0 : nil }
      seen[seat.incarnation.rawValue] = known ?? (seat.beats, now)
    }
    beats = seen
    (hasSeen, refusedSince) = (true, nil)
    let areDead = seen.values.allSatisfy { now.milliseconds(since: $0.since) >= limits.ttlMs }
    return areDead ? seats : nil
  }

  /// Notes that the table could not be read: what was seen is counted anew from the next time.
  ///
  /// Who cannot reach the database does not know whether others can.
  package mutating func failed() { beats = [:] }

  /// Notes that the database refuses this relay, as by a wrong password.
  ///
  /// - Returns: Whether to go on trying: not for longer than ``LeaseLimits/refusalMs``, and not if
  ///   the table was never read. Then it is a mistake of whoever has set the relay up.
  package mutating func bearsRefusal(at now: MonotonicTime) -> Bool {
    failed()
    let since = refusedSince ?? now
    refusedSince = since
    return hasSeen && now.milliseconds(since: since) < limits.refusalMs
  }
}

#if PostgreSQL
import RelayCore

/// Whether reads fail, as who reads has met it lately.
///
/// Others may succeed meanwhile: where a role has too few connections, some of those that read have
/// one. One failure alone may be a connection that was just lost.
struct ReadTrouble: Sendable {
  /// How long a failure is told of, in milliseconds.
  static let keptMs: Int64 = 60_000
  /// How long after other trouble a failure says nothing, in milliseconds: one connects anew.
  static let graceMs: Int64 = 15_000

  private var latest: (error: StoreError, at: MonotonicTime)?
  private var isRepeated = false
  private var countsFrom: MonotonicTime?

  /// Notes that the database cannot be written to either, which is told by itself.
  mutating func forget(at now: MonotonicTime) {
    (latest, isRepeated) = (nil, false)
    countsFrom = now.adding(milliseconds: Self.graceMs)
  }

  /// Notes that the database could not be asked.
  mutating func note(_ error: StoreError, at now: MonotonicTime) {
    if let countsFrom, now < countsFrom { return }
    isRepeated = latest.map { Self.isLately($0.at, now) } ?? false
    latest = (error, now)
  }

  /// The latest failure, if there were several lately.
  func error(at now: MonotonicTime) -> StoreError? {
    guard isRepeated, let latest, Self.isLately(latest.at, now) else { return nil }
    return latest.error
  }

  private static func isLately(_ time: MonotonicTime, _ now: MonotonicTime) -> Bool {
    now < time.adding(milliseconds: keptMs)
  }
}
#endif

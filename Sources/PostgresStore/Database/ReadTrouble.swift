#if PostgreSQL
import RelayCore

/// Whether reads fail while posts are taken, as who reads has met it lately.
///
/// It is told of failures alone: others may succeed meanwhile, as where a role has too few
/// connections and some of those that read have one. A few in a row may be a database that is just
/// going away, which the writer has not met yet.
struct ReadTrouble: Sendable {
  /// How long a failure is told of, in milliseconds.
  static let keptMs: Int64 = 60_000
  /// For how long reads have to have failed, in milliseconds: longer than it takes the writer and
  /// the lease to find that the database is away.
  static let durationMsMin: Int64 = 10_000

  private var first: MonotonicTime?
  private var latest: (error: StoreError, at: MonotonicTime)?

  /// Notes that the database could not be asked.
  ///
  /// - Parameter isAway: Whether it cannot be written to either, which is told by itself.
  mutating func note(_ error: StoreError, at now: MonotonicTime, isAway: Bool) {
    guard !isAway else {
      (first, latest) = (nil, nil)
      return
    }
    if latest.map({ now >= $0.at.adding(milliseconds: Self.keptMs) }) ?? true { first = now }
    latest = (error, now)
  }

  /// The latest failure, if there have been some for long enough.
  func error(at now: MonotonicTime) -> StoreError? {
    guard let first, let latest, now < latest.at.adding(milliseconds: Self.keptMs),
      latest.at >= first.adding(milliseconds: Self.durationMsMin)
    else { return nil }
    return latest.error
  }
}
#endif

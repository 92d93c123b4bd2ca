#if PostgreSQL
import RelayCore

/// What is known of trouble with the database: when to look whether it is over, and for how long
/// somebody is to wait who has written nothing yet.
///
/// It is told the time, and does nothing by itself.
struct DatabaseTrouble: Sendable, Equatable {
  /// When to look whether it is over, if nothing is written until then; nil without trouble.
  private(set) var looksAt: MonotonicTime?
  /// The time from trouble until then, in milliseconds.
  private var pauseMs: Int64
  private let pausesMs: ClosedRange<Int64>
  private let lossBorneMs: Int64
  /// Since when the database could not be reached; nil if it could, the last time.
  private var lostSince: MonotonicTime?
  /// Whether the last trouble was what the database has refused.
  private var isRefused = false
  private var isTaken = false

  /// None yet.
  init(_ limits: DatabaseLimits) {
    (pausesMs, lossBorneMs) = (limits.lookMs, limits.lossBorneMs)
    pauseMs = pausesMs.lowerBound
  }

  /// Whether the database could not be reached since the last transaction.
  var isLost: Bool { lostSince != nil }

  /// Notes trouble of a kind.
  mutating func note(_ kind: StoreError.Kind, at now: MonotonicTime) {
    isRefused = kind != .inputOutput
    looksAt = isTaken ? nil : now.adding(milliseconds: pauseMs)
  }

  /// Notes that the database cannot be reached.
  mutating func lose(at now: MonotonicTime) { lostSince = lostSince ?? now }

  /// Notes that another relay has the store: that does not pass, and nobody looks.
  mutating func noteTaken() { (isTaken, looksAt) = (true, nil) }

  /// Notes that a transaction is committed.
  ///
  /// - Parameter isOfEnvelopes: Whether it has written envelopes, or changes of them. Any other one
  ///   shows that the database is there, and not that it takes what it has refused.
  mutating func noteWritten(isOfEnvelopes: Bool) {
    lostSince = nil
    guard isOfEnvelopes || !isRefused else { return }
    (looksAt, pauseMs) = (nil, pausesMs.lowerBound)
  }

  /// Notes that a look has succeeded.
  ///
  /// It does not show all that a post needs, such as room on the disk: where posts are refused all
  /// the same, the next looks come later and later.
  mutating func noteLook() {
    pauseMs = isRefused ? min(2 * pauseMs, pausesMs.upperBound) : pausesMs.lowerBound
    (looksAt, lostSince) = (nil, nil)
  }

  /// Whether to look now.
  func isLookDue(at now: MonotonicTime) -> Bool { looksAt.map { now >= $0 } ?? false }

  /// Whether the database has been away for so short a time that one waits for it.
  func isWorthWaiting(at now: MonotonicTime) -> Bool {
    lostSince.map { now < $0.adding(milliseconds: lossBorneMs) } ?? true
  }
}
#endif

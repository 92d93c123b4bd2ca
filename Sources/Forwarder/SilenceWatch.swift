import EventLoop
import RelayCore

/// The time of the next check of transfers that must not be silent for too long.
///
/// There are no checks while no transfer has such a limit.
struct SilenceWatch {
  /// The share of the limit after which a silence is noticed at the latest: one part in so many.
  private static let looksPerLimit = 8
  /// The time between two checks, in milliseconds.
  private static let intervalMs: ClosedRange<Int64> = 5...1000

  private var lookAt: MonotonicTime?

  /// Whether there is anything to check.
  var isSet: Bool { lookAt != nil }

  /// The time until the next check, in milliseconds.
  var waitMs: Int32 {
    guard let lookAt else { return .max }
    // Rounded up, so that the thread does not wake too early for the check.
    let milliseconds = max(0, lookAt.milliseconds(since: MonotonicClock.now())) + 1
    return Int32(clamping: milliseconds)
  }

  /// Whether the next check is due.
  func isDue(at now: MonotonicTime) -> Bool { lookAt.map { $0 <= now } ?? false }

  /// Notes a running transfer with an idle timeout.
  mutating func watch(idleTimeoutMs: Int, at now: MonotonicTime) {
    let share = Int64(idleTimeoutMs) / Int64(Self.looksPerLimit)
    let intervalMs = min(max(share, Self.intervalMs.lowerBound), Self.intervalMs.upperBound)
    let time = now.adding(milliseconds: intervalMs)
    lookAt = lookAt.map { min($0, time) } ?? time
  }
}

/// The signs that a transfer is alive: any change of them counts.
struct SignsOfLife: Equatable {
  /// The number of times that the request was begun: 0 while there is no connection.
  var beginCount: Int
  /// The bytes of the body that were written on the connection.
  var writtenBytes: Int64
  /// The bytes received, header lines included.
  var receivedBytes: Int64
}

/// Measures how long a transfer has been silent.
struct Silence {
  private var signs = SignsOfLife(beginCount: 0, writtenBytes: 0, receivedBytes: 0)
  private var sinceTime: MonotonicTime

  /// Begins at a time.
  init(from now: MonotonicTime) { sinceTime = now }

  /// Notes the signs, and returns for how many milliseconds they have not changed.
  ///
  /// A transfer without a connection is not silent: making one has a limit of its own.
  mutating func lengthMs(with signs: SignsOfLife, at now: MonotonicTime) -> Int64 {
    if signs != self.signs || signs.beginCount == 0 {
      self.signs = signs
      sinceTime = now
    }
    return now.milliseconds(since: sinceTime)
  }
}

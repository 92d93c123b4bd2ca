import EventLoop
import RelayCore

/// When the transfers are looked at next that must not be silent for too long.
///
/// Nobody looks while none runs that has such a limit.
struct SilenceWatch {
  /// A silence is noticed when this share of the limit has passed beyond it, at the latest.
  private static let looksPerLimit = 8
  /// The time between two looks, in milliseconds.
  private static let intervalMs: ClosedRange<Int64> = 5...1000

  private var lookAt: MonotonicTime?

  /// Whether there is anything to look at.
  var isSet: Bool { lookAt != nil }

  /// How long nothing need be looked at, in milliseconds.
  var waitMs: Int32 {
    guard let lookAt else { return .max }
    // Rounded up, so that nobody wakes too early for the look.
    let milliseconds = max(0, lookAt.milliseconds(since: MonotonicClock.now())) + 1
    return Int32(clamping: milliseconds)
  }

  /// Whether it is time to look.
  func isDue(at now: MonotonicTime) -> Bool { lookAt.map { $0 <= now } ?? false }

  /// A transfer runs that may be silent for so long.
  mutating func watch(idleTimeoutMs: Int, at now: MonotonicTime) {
    let share = Int64(idleTimeoutMs) / Int64(Self.looksPerLimit)
    let intervalMs = min(max(share, Self.intervalMs.lowerBound), Self.intervalMs.upperBound)
    let time = now.adding(milliseconds: intervalMs)
    lookAt = lookAt.map { min($0, time) } ?? time
  }
}

/// What shows that a transfer is alive: any change of it does.
struct SignsOfLife: Equatable {
  /// How often the request was begun: 0 while there is no connection.
  var beginCount: Int
  /// How much of the body the connection has been given, in bytes.
  var writtenBytes: Int64
  /// How much has come in, header lines and all, in bytes.
  var receivedBytes: Int64
}

/// How long a transfer has been silent.
struct Silence {
  private var signs = SignsOfLife(beginCount: 0, writtenBytes: 0, receivedBytes: 0)
  private var sinceTime: MonotonicTime

  /// Begins to listen.
  init(from now: MonotonicTime) { sinceTime = now }

  /// Listens, and says for how many milliseconds nothing has changed.
  ///
  /// Nothing is silent before there is a connection: making one has a limit of its own.
  mutating func lengthMs(with signs: SignsOfLife, at now: MonotonicTime) -> Int64 {
    if signs != self.signs || signs.beginCount == 0 {
      self.signs = signs
      sinceTime = now
    }
    return now.milliseconds(since: sinceTime)
  }
}

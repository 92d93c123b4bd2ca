#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The device's own clocks.
public struct SystemClock: OutboxClock {
  /// The device's own clocks.
  public init() {}

  /// The time of day.
  public var wall: Instant {
    Instant(milliseconds: Self.nanoseconds(CLOCK_REALTIME) / 1_000_000)
  }

  /// The time since the device was started, that of its sleep included.
  public var monotonic: Duration { .nanoseconds(Self.nanoseconds(Self.elapsed)) }

  /// A word that is another one after each start of the device.
  public var bootID: String {
    #if os(Linux)
    let bytes = (try? Platform.read("/proc/sys/kernel/random/boot_id")) ?? []
    return String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self)
    #else
    var boot = timeval()
    var size = MemoryLayout<timeval>.size
    var name = [CTL_KERN, KERN_BOOTTIME]
    sysctl(&name, 2, &boot, &size, nil, 0)
    return "\(boot.tv_sec)"
    #endif
  }

  /// A random number of the system.
  public func random() -> UInt64 { Platform.random() }

  /// Waits so long.
  public func sleep(_ time: Duration) async throws {
    try await Task.sleep(for: time, clock: .continuous)
  }

  #if os(Linux)
  private static let elapsed = CLOCK_BOOTTIME
  #else
  private static let elapsed = CLOCK_MONOTONIC
  #endif

  private static func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

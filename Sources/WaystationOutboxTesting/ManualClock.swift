import Synchronization
import WaystationOutbox

/// A clock that stands still until a test moves it.
public final class ManualClock: OutboxClock {
  private struct State {
    var wallMs: Int64
    var monotonicMs: Int64 = 1_000_000
    var boot = 1
    var seed: UInt64 = 1
    var sleepers: [Int: (untilMs: Int64, continuation: CheckedContinuation<Bool, Never>)] = [:]
    var next = 0
  }

  private let state: Mutex<State>

  /// A clock at a time of day.
  public init(wall: Instant = Instant(milliseconds: 1_800_000_000_000)) {
    state = Mutex(State(wallMs: wall.milliseconds))
  }

  /// The time of day.
  public var wall: Instant { Instant(milliseconds: state.withLock { $0.wallMs }) }
  /// The time since the device's start.
  public var monotonic: Duration { .milliseconds(state.withLock { $0.monotonicMs }) }
  /// The present start of the device.
  public var bootID: String { "boot-\(state.withLock { $0.boot })" }

  /// Numbers that are the same in each test.
  public func random() -> UInt64 {
    state.withLock { state in
      // SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
      state.seed &+= 0x9E37_79B9_7F4A_7C15
      var word = state.seed
      word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
      word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
      return word ^ word >> 31
    }
  }

  /// Waits until the test has moved the clock so far.
  public func sleep(_ time: Duration) async throws {
    let (seconds, attoseconds) = time.components
    let milliseconds = max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    let isOver = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver: Bool? = state.withLock { state in
          if Task.isCancelled { return false }
          if milliseconds == 0 { return true }
          state.sleepers[number] = (state.monotonicMs + milliseconds, continuation)
          return nil
        }
        if let isOver { continuation.resume(returning: isOver) }
      }
    } onCancel: {
      let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
      sleeper?.continuation.resume(returning: false)
    }
    guard isOver else { throw CancellationError() }
  }

  /// Lets time pass, by both clocks; those whose wait is over go on.
  public func advance(by time: Duration) {
    let (seconds, attoseconds) = time.components
    let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
    let woken = state.withLock { state in
      state.monotonicMs += milliseconds
      state.wallMs += milliseconds
      let due = state.sleepers.filter { $0.value.untilMs <= state.monotonicMs }
      for number in due.keys { state.sleepers[number] = nil }
      return due.sorted { $0.value.untilMs < $1.value.untilMs }.map(\.value.continuation)
    }
    for continuation in woken { continuation.resume(returning: true) }
  }

  /// Sets the time of day, as a user or a network may.
  public func setWall(_ wall: Instant) { state.withLock { $0.wallMs = wall.milliseconds } }

  /// The device is started anew: its time begins at zero.
  public func restartDevice() {
    state.withLock { state in
      state.boot += 1
      state.monotonicMs = 1000
    }
  }
}

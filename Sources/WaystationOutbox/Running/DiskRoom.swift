import RelayCore
import Synchronization

/// The room on an outbox's disk, measured now and then rather than for each item.
///
/// Between two measurements what was handed over is counted. Where little is left, each item is
/// measured for.
final class DiskRoom: Sendable {
  private struct Measured {
    var left: Int64
    let at: Duration
  }

  /// How long a measurement is good for: others write to the disk as well.
  private static let age: Duration = .milliseconds(100)
  /// The bytes beside the reserve below which each item is measured for.
  private static let scarce: Int64 = 8 << 20
  /// A body is written to the database's log first, and then to the database.
  private static let writes: Int64 = 2

  private let folder: String
  private let clock: any OutboxClock
  private let measured = Mutex<Measured?>(nil)

  init(of folder: String, _ clock: any OutboxClock) {
    self.folder = folder
    self.clock = clock
  }

  /// Whether the reserve is still free; so many bytes are about to be taken from the rest.
  func isLeft(_ reserve: Int64, beside bytes: Int64) -> Bool {
    let now = clock.monotonic
    return measured.withLock { measured in
      if let known = measured, now - known.at < Self.age, known.left - reserve > Self.scarce {
        measured?.left -= bytes * Self.writes
        return true
      }
      // A file system that does not say is found out about by its own refusal.
      guard let left = Platform.roomBytes(of: folder) else { return true }
      measured = Measured(left: left - bytes * Self.writes, at: now)
      return left >= reserve
    }
  }
}

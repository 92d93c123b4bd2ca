import EventLoop
import Glibc
import RelayCore

/// A small file in the data folder that says on which boot of the machine the store was opened.
///
/// What a process has written is there after it was killed, but not after a power cut. So the index
/// of SQLite's log can be relied upon as long as the machine has not started anew: a log that goes
/// less far was cut off, put back or deleted. See `docs/decisions/0023-damaged-stores.md`.
enum BootMarker {
  /// A number that Linux draws at each boot (random(4)).
  private static let bootID = "/proc/sys/kernel/random/boot_id"
  private static let bytesMax = 64

  static func path(in folder: String) -> String { folder + "/boot" }

  /// Whether the store was opened last on this boot; no if that cannot be told.
  static func isOfThisBoot(_ folder: String) -> Bool {
    guard let now = content(of: bootID) else { return false }
    return content(of: path(in: folder)) == now
  }

  /// Records this boot, once SQLite has made the log's index anew.
  ///
  /// It is not synced: what a power cut leaves of it names another boot. A missing one is no error:
  /// the index then proves nothing.
  static func write(in folder: String) {
    guard !isOfThisBoot(folder), let now = content(of: bootID) else { return }
    let number = open(path(in: folder), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard number >= 0 else { return }
    let file = FileDescriptor(adopting: number)
    _ = Glibc.write(file.number, now, now.count)
  }

  /// Has the index count as one that proves nothing.
  ///
  /// After a sync that failed, the kernel may forget what was written, though it never was on the
  /// disk (fsync(2)).
  static func remove(in folder: String) { unlink(path(in: folder)) }

  private static func content(of path: String) -> [UInt8]? {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(adopting: number)
    var bytes = [UInt8](repeating: 0, count: bytesMax)
    let count = read(file.number, &bytes, bytesMax)
    return count > 0 ? Array(bytes[..<count]) : nil
  }
}

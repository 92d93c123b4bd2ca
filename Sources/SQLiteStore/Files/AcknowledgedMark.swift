import EventLoop
import Glibc
import RelayCore

/// A small file in the data folder that says how far the store's log of events went when something
/// was acknowledged last.
///
/// A store whose log of events ends earlier lacks commits that were acknowledged: SQLite's log was
/// cut off or deleted, or an older copy is in its place. Nothing else tells such a store from a
/// whole one.
///
/// The file is written after the sync of what it speaks of, and is not synced itself. So it never
/// says too much, whatever a power cut or a snapshot of the disk leaves of it. See
/// `docs/decisions/0023-damaged-stores.md`.
final class AcknowledgedMark: Sendable {
  /// What stands before the number in each line.
  private static let prefix = Array("events ".utf8)
  private static let digits = 19
  private static let lineBytes = prefix.count + digits + 1
  /// Twice the same line, always as long as this: one is written over another in one piece, and a
  /// piece of one beside a piece of another is seen.
  private static let byteCount = 2 * lineBytes

  private let file: FileDescriptor

  /// Opens the file, or makes it.
  ///
  /// - Returns: nil if it cannot be written; the store is as good without, but for such a loss.
  init?(in folder: String) {
    let number = open(
      Self.path(in: folder), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
      0o600)
    guard number >= 0 else { return nil }
    file = FileDescriptor(adopting: number)
    // Whatever else somebody has put there would hide what is written.
    _ = ftruncate(number, off_t(Self.byteCount))
  }

  /// What a store without the file is told to lack.
  static func lack(in folder: String) -> String {
    "\(path(in: folder)) cannot be written: a log that loses its end would not be noticed at a"
      + " start. Remove what stands in its place, and start the relay again"
  }

  /// Notes the last row of the log of events that is on the disk.
  ///
  /// Called by one thread at a time. An error is none: the file then says less than it could.
  func note(events row: Int64) {
    let line = Self.prefix + Self.padded(row) + [UInt8(ascii: "\n")]
    let text = line + line
    _ = pwrite(file.number, text, text.count, 0)
  }

  private static func padded(_ number: Int64) -> [UInt8] {
    let digits = Array(String(number).utf8)
    return [UInt8](repeating: UInt8(ascii: "0"), count: Self.digits - digits.count) + digits
  }

  // MARK: - Reading

  static func path(in folder: String) -> String { folder + "/acknowledged" }

  /// The row that was noted last; nil if there is no such file, or it cannot be read.
  static func events(in folder: String) -> Int64? {
    let number = open(path(in: folder), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(adopting: number)
    var bytes = [UInt8](repeating: 0, count: byteCount + 1)
    guard read(file.number, &bytes, bytes.count) == byteCount,
      bytes[..<lineBytes] == bytes[lineBytes..<byteCount], bytes.starts(with: prefix),
      bytes[lineBytes - 1] == UInt8(ascii: "\n")
    else { return nil }
    let digits = bytes[prefix.count..<lineBytes - 1]
    guard digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    return Int64(String(decoding: digits, as: UTF8.self))
  }
}

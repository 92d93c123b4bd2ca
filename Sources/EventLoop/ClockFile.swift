import Glibc
import RelayCore

/// What a process that begins can know of the clock from the one before it: by how much the time of
/// day was ahead of the time since the machine was started.
///
/// Holds until the machine is started again, which the kernel's boot id tells
/// (random(4), `/proc/sys/kernel/random/boot_id`). It is a note and no more: one that is missing or
/// cannot be read costs nothing but the doubt about a step in between.
package struct ClockFile: Sendable {
  private let path: String

  /// Names the file.
  package init(path: String) { self.path = path }

  /// The offset that was noted, in milliseconds; nil if there is none of this start of the machine.
  package func offsetMs() -> Int64? {
    guard let boot = Self.boot(), let text = Self.contents(of: path) else { return nil }
    let words = text.split(separator: " ")
    guard words.count == 2, words[0] == boot else { return nil }
    return Int64(words[1])
  }

  /// Notes an offset; what cannot be written is left out.
  package func note(offsetMs: Int64) {
    guard let boot = Self.boot() else { return }
    let draft = path + ".new"
    let number = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard number >= 0 else { return }
    let text = "\(boot) \(offsetMs)\n"
    let isWritten = write(number, text, text.utf8.count) == text.utf8.count
    close(number)
    if isWritten { rename(draft, path) } else { unlink(draft) }
  }

  private static func boot() -> String? {
    contents(of: "/proc/sys/kernel/random/boot_id")
  }

  /// The first line of a short file.
  private static func contents(of path: String) -> String? {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    defer { close(number) }
    var buffer = [UInt8](repeating: 0, count: 128)
    let count = read(number, &buffer, buffer.count)
    guard count > 0 else { return nil }
    return String(decoding: buffer[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }
}

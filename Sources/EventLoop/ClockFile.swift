import Glibc
import RelayCore

/// A note from one process to the next: the time of day minus the time since the machine was
/// started, and steps of the clock.
///
/// The offset is valid until the machine is restarted, which the kernel's boot id tells (random(4),
/// `/proc/sys/kernel/random/boot_id`). If the note is missing or cannot be read, the only loss is
/// that a step in between goes unnoticed.
package struct ClockFile: Sendable {
  private let path: String

  /// Names the file.
  package init(path: String) { self.path = path }

  /// The noted offset in milliseconds; nil if there is none since the machine was started.
  package func offsetMs() -> Int64? {
    guard let boot = Self.boot(), let text = Self.lines(of: path).first else { return nil }
    let words = text.split(separator: " ")
    guard words.count == 2, words[0] == boot else { return nil }
    return Int64(words[1])
  }

  /// The noted steps, also from before the machine was started; none if they cannot be read.
  package func steps() -> [ClockSteps.Step] {
    Self.lines(of: path).dropFirst().compactMap { line in
      let numbers = line.split(separator: " ").compactMap { Int64($0) }
      guard numbers.count == 2, numbers[1] > 0 else { return nil }
      return ClockSteps.Step(
        lastBefore: WallTime(millisecondsSinceEpoch: numbers[0]), byMs: numbers[1])
    }
  }

  /// Notes an offset and steps; if they cannot be written, the former note stays.
  package func note(offsetMs: Int64, steps: [ClockSteps.Step] = []) {
    guard let boot = Self.boot() else { return }
    let draft = path + ".new"
    let number = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard number >= 0 else { return }
    var text = "\(boot) \(offsetMs)\n"
    for step in steps { text += "\(step.lastBefore.millisecondsSinceEpoch) \(step.byMs)\n" }
    var isWritten = write(number, text, text.utf8.count) == text.utf8.count
    // Steps are needed after the machine's next start as well, and after a power cut.
    if isWritten, !steps.isEmpty { isWritten = fsync(number) == 0 }
    close(number)
    if isWritten { rename(draft, path) } else { unlink(draft) }
  }

  private static func boot() -> String? {
    lines(of: "/proc/sys/kernel/random/boot_id").first
  }

  /// The largest file: an offset and the most steps, of some forty bytes each.
  private static let fileBytesMax = 64 * (ClockSteps.countMax + 2)

  /// The lines of a short file; none if it cannot be read.
  private static func lines(of path: String) -> [String] {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return [] }
    defer { close(number) }
    var buffer = [UInt8](repeating: 0, count: fileBytesMax)
    let count = read(number, &buffer, buffer.count)
    guard count > 0 else { return [] }
    return buffer[..<count].split(separator: UInt8(ascii: "\n")).map {
      String(decoding: $0, as: UTF8.self)
    }
  }
}

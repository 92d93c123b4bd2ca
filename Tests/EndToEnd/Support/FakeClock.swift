import Foundation
import Glibc

/// The time of day as relays under test see it, by a library that is loaded into them.
///
/// `Tests/ClockShim` is the other side. Clocks that nobody can set go on as they are.
final class FakeClock: Sendable {
  static let day = 86_400
  static let year = 365 * day

  private let folder: TemporaryFolder
  private let control: String

  /// Begins with the right time.
  init() throws {
    folder = try TemporaryFolder()
    control = folder.path + "/clock"
    try Data(count: 8).write(to: URL(fileURLWithPath: control))
  }

  /// What a relay has to be started with.
  var environment: [String: String] {
    ["LD_PRELOAD": Self.library, "WAYSTATION_CLOCK_CONTROL": control]
  }

  /// Beside the test program, where SwiftPM puts both.
  private static let library: String = {
    let test = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return (test as NSString).deletingLastPathComponent + "/libClockShim.so"
  }()

  /// Sets the clock so many seconds ahead of the right time, or back if they are negative.
  func set(ahead seconds: Int) throws {
    let file = open(control, O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { throw SocketError(operation: "open \(control)", code: errno) }
    defer { close(file) }
    var value = Int64(seconds)
    // Eight bytes at once: whoever has them mapped never sees half of them.
    guard pwrite(file, &value, 8, 0) == 8 else {
      throw SocketError(operation: "write \(control)", code: errno)
    }
  }

  /// Sets the clock to 1970.
  func setToEpoch() throws { try set(ahead: -Int(Date().timeIntervalSince1970)) }
}

import Foundation
import Testing

/// What a process has in memory, as the kernel counts it (proc_pid_status(5)).
enum ProcessMemory {
  /// Whether what the relay takes is its own: a sanitizer takes several times as much beside it.
  private static let isTheRelays =
    ProcessInfo.processInfo.environment["WAYSTATION_SANITIZER"] == nil

  /// What is resident now, in bytes.
  static func residentBytes(of process: pid_t) throws -> Int {
    try bytes("VmRSS", of: process)
  }

  /// The most that was resident at any time since the process began, in MiB.
  static func peakMiB(of process: pid_t) throws -> Int {
    (try bytes("VmHWM", of: process) + (1 << 20) - 1) >> 20
  }

  /// Expects an amount to be no more than a bound, where it is the relay's alone.
  static func expect(
    _ amount: Int, atMost bound: Int, _ unit: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard isTheRelays else { return }
    #expect(amount <= bound, "\(amount) \(unit)", sourceLocation: sourceLocation)
  }

  private static func bytes(_ field: String, of process: pid_t) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(field + ":") } ?? ""
    guard let kibibytes = line.split(separator: " ").compactMap({ Int($0) }).first else {
      throw ProtocolViolation(description: "/proc/\(process)/status has no \(field)")
    }
    return kibibytes << 10
  }
}

import Foundation
import Glibc

/// What a process takes of the machine, as `/proc` tells it.
struct ProcessFigures: Sendable {
  /// Memory that is in RAM, in bytes.
  var memoryBytes: Int
  /// Open descriptors.
  var descriptorCount: Int
  /// Processor time that it has used since it began, in seconds.
  var processorSeconds: Double

  /// Reads them; nil if there is no such process.
  init?(of number: pid_t) {
    let folder = "/proc/\(number)"
    guard let status = try? String(contentsOfFile: folder + "/status", encoding: .utf8),
      let stat = try? String(contentsOfFile: folder + "/stat", encoding: .utf8),
      let descriptors = try? FileManager.default.contentsOfDirectory(atPath: folder + "/fd"),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
      let kilobytes = Int(line.split(whereSeparator: { !$0.isNumber }).first ?? "")
    else { return nil }
    memoryBytes = kilobytes * 1024
    descriptorCount = descriptors.count
    // Behind the name, which may hold anything but ends with the last bracket (proc_pid_stat(5)).
    let fields = stat[(stat.lastIndex(of: ")") ?? stat.startIndex)...].split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
      return nil
    }
    processorSeconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// How many bytes the files of a folder take on disk.
  static func diskBytes(of folder: String) -> Int {
    var sum = 0
    for name in FileManager.default.enumerator(atPath: folder) ?? .init() {
      var status = Glibc.stat()
      if lstat("\(folder)/\(name)", &status) == 0 { sum += Int(status.st_blocks) * 512 }
    }
    return sum
  }
}

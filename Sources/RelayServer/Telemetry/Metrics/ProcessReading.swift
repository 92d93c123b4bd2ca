import Glibc
import RelayCore

/// Linux's figures of this process (proc(5)).
struct ProcessReading: Sendable {
  /// Processor time in user and system mode.
  var cpuSeconds = 0.0
  var virtualBytes: Int64 = 0
  var residentBytes: Int64 = 0
  var threadCount: Int64 = 0
  var openDescriptors = 0
  /// 0 where it is not known.
  var descriptorsMax: UInt64 = 0
  /// Since the Unix epoch; nil where it is not known.
  var startedAtSeconds: Double?

  /// Reads it all: some ten microseconds.
  static func now() -> ProcessReading {
    var reading = ProcessReading()
    reading.takeStat()
    reading.openDescriptors = openDescriptorCount()
    var limit = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
      reading.descriptorsMax = UInt64(limit.rlim_cur)
    }
    return reading
  }

  private mutating func takeStat() {
    // The name of the program, in parentheses, may hold anything: what counts follows the last one.
    guard let text = Self.contents(of: "/proc/self/stat"),
      let end = text.lastIndex(of: UInt8(ascii: ")"))
    else { return }
    let fields = text[(end + 1)...].split(separator: UInt8(ascii: " ")).map {
      Int64(String(decoding: $0, as: UTF8.self)) ?? 0
    }
    // The first is field 3 of proc_pid_stat(5).
    guard fields.count > 21 else { return }
    let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
    cpuSeconds = Double(fields[11] + fields[12]) / ticksPerSecond
    threadCount = fields[17]
    virtualBytes = fields[20]
    residentBytes = fields[21] * Int64(sysconf(Int32(_SC_PAGESIZE)))
    startedAtSeconds = Self.bootedAt.map { $0 + Double(fields[19]) / ticksPerSecond }
  }

  /// The time of the machine's start in seconds since the Unix epoch, rounded as the kernel does
  /// it, and so always the same unless the clock is set.
  private static var bootedAt: Double? {
    guard let text = contents(of: "/proc/stat") else { return nil }
    for line in text.split(separator: 0x0A) where line.starts(with: "btime ".utf8) {
      return Double(String(decoding: line.dropFirst(6), as: UTF8.self))
    }
    return nil
  }

  /// Since Linux 6.2 the folder's size is their number; before that they have to be counted.
  private static func openDescriptorCount() -> Int {
    var information = stat()
    if stat("/proc/self/fd", &information) == 0, information.st_size > 0 {
      return Int(information.st_size)
    }
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    // Without `.`, `..`, and the one that reads.
    return max(0, count - 3)
  }

  private static func contents(of path: String) -> [UInt8]? {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    defer { close(number) }
    var text: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while text.count < fileBytesMax {
      let count = read(number, &piece, piece.count)
      guard count > 0 else { break }
      text.append(contentsOf: piece[..<count])
    }
    return text
  }

  /// As much is read of a file: `/proc/stat` has a line for each processor and interrupt.
  private static let fileBytesMax = 256 * 1024
}

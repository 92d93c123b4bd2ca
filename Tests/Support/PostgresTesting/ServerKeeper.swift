#if PostgreSQL
import Foundation
import Glibc
import Synchronization

/// A shell script that keeps database servers for as long as this process runs.
///
/// It reads lines from its standard input, and stops its servers when that ends, as it does when
/// this process ends, however that comes about.
final class ServerKeeper: Sendable {
  private let input: Int32
  private let output: Int32
  private let process: Mutex<Process>

  /// Starts a script.
  ///
  /// - Parameter arguments: The first one is what it calls itself.
  init(_ script: String, _ arguments: [String]) throws {
    let (reading, writing) = (try Self.pipe(), try Self.pipe())
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", script] + arguments
    process.standardInput = FileHandle(fileDescriptor: reading.out, closeOnDealloc: true)
    process.standardOutput = FileHandle(fileDescriptor: writing.in, closeOnDealloc: true)
    // What the tests' own process is run with, such as a sanitizer's library, is not for others.
    process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "LD_PRELOAD" }
    try process.run()
    (input, output) = (reading.in, writing.out)
    // Else the end of its output would not be seen here.
    close(writing.in)
    self.process = Mutex(process)
  }

  deinit {
    close(input)
    close(output)
  }

  /// Both ends of a pipe.
  ///
  /// No other program that tests start gets one: the servers would outlive this process with it.
  private static func pipe() throws -> (out: Int32, in: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }) else {
      throw PostgresServer.Failure("no pipe")
    }
    return (ends[0], ends[1])
  }

  /// Says a line to the script, and waits for its answer; nil if it has ended.
  func ask(_ line: String) -> String? {
    let bytes = Array((line + "\n").utf8)
    guard write(input, bytes, bytes.count) == bytes.count else { return nil }
    return nextLine()
  }

  /// Waits for the next line of its output; nil if it has ended.
  func nextLine() -> String? {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      let count = read(output, &byte, 1)
      if count < 0 && errno == EINTR { continue }
      guard count == 1 else { return nil }
      if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      line.append(byte)
    }
  }
}
#endif

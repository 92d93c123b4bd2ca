import Foundation
import Glibc

/// A TLS connection of the `openssl` command's, which a test reads and writes as a plain one.
///
/// Another program's TLS, so that a mistake in the use of the library shows.
final class SecureTunnel: Sendable {
  /// What goes through it.
  let connection: Connection
  private let number: pid_t
  private let ending = Monitor<Ending?>(nil)

  /// Connects.
  ///
  /// - Parameters:
  ///   - authority: Who has to have signed the relay's certificate.
  ///   - more: More of `openssl s_client`'s options.
  init(port: UInt16, trusting authority: String, _ more: [String] = []) throws {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw SocketError(operation: "socketpair", code: errno)
    }
    defer { close(ends[1]) }
    connection = Connection(descriptor: ends[0])
    number = try Self.spawn(
      [
        "s_client", "-quiet", "-connect", "127.0.0.1:\(port)", "-CAfile", authority,
        "-verify_return_error", "-verify_ip", "127.0.0.1",
      ] + more, descriptor: ends[1])
    let (number, ending) = (number, ending)
    Thread.detachNewThread {
      var status: Int32 = 0
      while waitpid(number, &status, 0) < 0 && errno == EINTR {}
      let signal = status & 0x7F
      ending.change { $0 = signal == 0 ? .exit(status >> 8 & 0xFF) : .signal(signal) }
    }
  }

  deinit { cut() }

  /// Ends the process at once: the kernel closes its connection, and no `close_notify` is sent.
  func cut() {
    ending.read { if $0 == nil { Glibc.kill(number, SIGKILL) } }
  }

  /// Waits until the command has ended by itself.
  func ending() async throws -> Ending {
    try await ending.wait("end of the command") { $0 }
  }

  /// Sends a request, and reads its answer.
  func request(
    _ method: String, _ target: String, headers: [String: String] = [:], body: [UInt8]? = nil
  ) async throws -> WireResponse {
    var head = "\(method) \(target) HTTP/1.1\r\nHost: relay\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    if let body { head += "Content-Length: \(body.count)\r\n" }
    let bytes = Array((head + "\r\n").utf8) + (body ?? [])
    return try await onThread { [connection] in
      try connection.write(bytes)
      return try connection.readResponse(to: method)
    }
  }

  private static func spawn(_ arguments: [String], descriptor: Int32) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, descriptor, 0)
    posix_spawn_file_actions_adddup2(&actions, descriptor, 1)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    let words = (["openssl"] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var number: pid_t = 0
    let code = posix_spawnp(&number, "openssl", &actions, nil, words, environ)
    guard code == 0 else { throw SocketError(operation: "start openssl", code: code) }
    return number
  }
}

/// What one handshake of the `openssl` command's shows.
enum Handshake {
  /// Connects, ends, and returns all that was printed, errors too.
  static func of(port: UInt16, _ more: [String] = []) async throws -> String {
    let process = try ChildProcess(
      "openssl", ["s_client", "-connect", "127.0.0.1:\(port)"] + more)
    try await process.ending()
    return process.output + process.errors
  }
}

import Foundation
import Glibc

/// A name server of the test's own, on an address of loopback that nobody else has.
///
/// Answers what it is told to (RFC 1035); a relay is made to ask it by a resolv.conf of its own,
/// in a mount namespace.
final class NameServer: Sendable {
  /// What it says when it is asked for an address.
  enum Answer: Sendable {
    /// These four bytes.
    case address(UInt8, UInt8, UInt8, UInt8)
    /// There is no such name.
    case unknown
    /// It cannot say.
    case failure
    /// Nothing at all.
    case silence
    /// Bytes that are no answer.
    case garbage
  }

  private struct State {
    var answer: Answer
    var questions = 0
  }

  private let socket: Int32
  private let state: Monitor<State>
  private let folder: TemporaryFolder
  private let address: String

  /// Whether a relay can be given a resolv.conf of its own here, and port 53 be bound.
  static let isPossible: Bool = {
    guard geteuid() == 0, ChildProcess.program("unshare") != nil,
      let server = try? NameServer(.unknown)
    else { return false }
    let command = server.wrapper + ["true"]
    let process = Process()
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  init(_ answer: Answer) throws {
    folder = try TemporaryFolder()
    state = Monitor(State(answer: answer))
    let (socket, address) = try Self.bind()
    (self.socket, self.address) = (socket, address)
    try folder.write(
      "resolv.conf", "nameserver \(address)\noptions timeout:1 attempts:1\n")
    let state = state
    Thread.detachNewThread { Self.serve(socket, state) }
  }

  deinit {
    // Wakes the thread that serves, which then closes it.
    shutdown(socket, Int32(SHUT_RDWR))
  }

  /// Runs a program that asks this server.
  var wrapper: [String] {
    let script = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\""
    return [
      ChildProcess.program("unshare") ?? "unshare", "--mount", "--propagation", "private", "sh",
      "-c", script, folder.path + "/resolv.conf",
    ]
  }

  /// Says something else from now on.
  func say(_ answer: Answer) { state.change { $0.answer = answer } }

  /// Waits until it has been asked so many more times.
  func asked(more count: Int) async throws {
    let before = state.read(\.questions)
    _ = try await state.wait("\(count) more questions for a name") {
      $0.questions >= before + count ? true : nil
    }
  }

  private static func bind() throws -> (Int32, String) {
    for _ in 0..<20 {
      let socket = Glibc.socket(
        AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      let last = (UInt8.random(in: 1...254), UInt8.random(in: 1...254))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(53).bigEndian
      address.sin_addr.s_addr =
        (UInt32(127) << 24 | UInt32(53) << 16 | UInt32(last.0) << 8 | UInt32(last.1)).bigEndian
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      if result == 0 { return (socket, "127.53.\(last.0).\(last.1)") }
      close(socket)
    }
    throw SocketError(operation: "bind a name server", code: errno)
  }

  private static func serve(_ socket: Int32, _ state: Monitor<State>) {
    var buffer = [UInt8](repeating: 0, count: 1500)
    while true {
      var peer = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let count = withUnsafeMutablePointer(to: &peer) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          recvfrom(socket, &buffer, buffer.count, 0, $0, &length)
        }
      }
      guard count > 12 else { break }
      let answer = state.change { state in
        state.questions += 1
        return state.answer
      }
      guard let reply = reply(to: Array(buffer[..<count]), answer) else { continue }
      withUnsafePointer(to: &peer) {
        _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(socket, reply, reply.count, 0, $0, length)
        }
      }
    }
    close(socket)
  }

  /// The question's own bytes with the answer's header, and an address behind them where one was
  /// asked for.
  private static func reply(to question: [UInt8], _ answer: Answer) -> [UInt8]? {
    // The name's labels end with an empty one; type and class follow.
    var end = 12
    while end < question.count, question[end] != 0 { end += Int(question[end]) + 1 }
    guard end + 5 <= question.count else { return nil }
    let asksForIPv4 = question[end + 2] == 1
    var code: UInt8 = 0
    var address: [UInt8] = []
    switch answer {
    case .address(let a, let b, let c, let d): if asksForIPv4 { address = [a, b, c, d] }
    case .unknown: code = 3
    case .failure: code = 2
    case .silence: return nil
    case .garbage: return [UInt8](repeating: 0xFF, count: 40)
    }
    var reply = Array(question[..<2]) + [0x81, 0x80 | code, 0, 1, 0, address.isEmpty ? 0 : 1]
    reply += [0, 0, 0, 0] + question[12..<(end + 5)]
    if !address.isEmpty { reply += [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4] + address }
    return reply
  }
}

import EventLoop
import JSON
import RelayCore
import RelayServer

/// A single `GET /readyz` on a connection of its own.
enum HealthCheck {
  /// The size at which reading a response stops, in bytes.
  static let answerBytesMax = 65536
  /// The port of `http` (RFC 9110 section 4.2.1).
  private static let defaultPort: UInt16 = 80

  /// Returns if the response is 2xx.
  ///
  /// - Throws: ``HealthFailure`` if it is not, or if there is none.
  static func ask(
    _ target: HealthTarget, on loop: EventLoop, until deadline: MonotonicTime
  ) async throws(HealthFailure) {
    let socket = try await connect(to: target, on: loop, until: deadline)
    defer { socket.close() }
    let answer: [UInt8]
    do throws(SystemError) {
      try await socket.write(request(to: target), stallMs: HealthCommand.timeoutMs)
      answer = try await read(from: socket, until: deadline)
    } catch {
      throw HealthFailure(reason: words(for: error))
    }
    try judge(answer)
  }

  /// Throws unless the bytes begin with the status line of a 2xx response.
  static func judge(_ answer: [UInt8]) throws(HealthFailure) {
    let line = answer.prefix { $0 != 0x0D && $0 != 0x0A }
    let parts = line.split(separator: 0x20, maxSplits: 2)
    guard parts.count >= 2, parts[0].starts(with: "HTTP/1.".utf8), parts[1].count == 3,
      let status = Int(String(decoding: parts[1], as: UTF8.self))
    else {
      throw HealthFailure(
        reason: answer.isEmpty
          ? "it closed the connection without an answer"
          : "the server that answers does not speak HTTP/1.1")
    }
    guard !(200...299).contains(status) else { return }
    throw HealthFailure(
      reason: "it answers \(status)" + (detail(in: answer).map { ": \($0)" } ?? ""))
  }

  /// The reason that a response gives, made safe for a terminal: the `detail` of a problem document
  /// (RFC 9457), or the first of the `reasons` that `/readyz` gives to those who may see them.
  private static func detail(in answer: [UInt8]) -> String? {
    guard let start = answer.firstIndex(of: UInt8(ascii: "{")),
      let end = answer.lastIndex(of: UInt8(ascii: "}")), start < end,
      let object = try? JSONValue.parse(Array(answer[start...end])).object()
    else { return nil }
    var reasons = try? object["reasons"]?.array().makeIterator()
    let detail = object.text("detail") ?? (try? reasons?.next()?.string())
    return detail.map(SafeText.line)
  }

  private static func request(to target: HealthTarget) -> [UInt8] {
    let (path, host) =
      switch target {
      case .url(let url): (url.basePath, url.authority)
      case .unix: ("", "localhost")
      }
    return Array(
      """
      GET \(path)/readyz HTTP/1.1\r
      Host: \(host)\r
      User-Agent: waystation-health/\(ReleaseVersion.number)\r
      Connection: close\r
      \r\n
      """.utf8)
  }

  private static func connect(
    to target: HealthTarget, on loop: EventLoop, until deadline: MonotonicTime
  ) async throws(HealthFailure) -> Socket {
    switch target {
    case .unix(let path):
      do throws(SystemError) {
        return try Socket.connect(toUnix: path, on: loop)
      } catch {
        throw HealthFailure(reason: words(for: error))
      }
    case .url(let url):
      let addresses = HostLookup.addresses(of: url.host, port: url.port ?? defaultPort)
      guard !addresses.isEmpty else {
        throw HealthFailure(reason: "the host \(url.host) has no address")
      }
      return try await connect(to: addresses, on: loop, until: deadline)
    }
  }

  private static func connect(
    to addresses: [SocketAddress], on loop: EventLoop, until deadline: MonotonicTime
  ) async throws(HealthFailure) -> Socket {
    var reason = ""
    for address in addresses {
      do throws(SystemError) {
        return try await Socket.connect(to: address, on: loop, until: deadline)
      } catch {
        reason = words(for: error)
      }
    }
    throw HealthFailure(reason: reason)
  }

  private static func read(
    from socket: Socket, until deadline: MonotonicTime
  ) async throws(SystemError) -> [UInt8] {
    var answer: [UInt8] = []
    while answer.count < answerBytesMax {
      let piece = try await socket.read(upTo: 4096, until: deadline)
      if piece.isEmpty { break }
      answer += piece
    }
    return answer
  }

  private static func words(for error: SystemError) -> String {
    error.isTimeout ? "no answer within \(HealthCommand.timeoutMs / 1000) s" : error.reason
  }
}

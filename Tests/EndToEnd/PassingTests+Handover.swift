#if PostgreSQL
import Foundation
import Glibc
import Testing

extension EndToEnd.Passing {
  @Test("while one that is stopped waits for an upstream, posts are still taken everywhere")
  func slowUpstream() async throws {
    let gate = Monitor(false)
    upstream.behave { request in
      if request.target == "/slow" { _ = gate.block(seconds: 30) { $0 ? true : nil } }
      return .answer(200)
    }
    try await knowEachOther()
    try await device(at: holder).post(["path": "/slow"]).require(202)
    try await upstream.received(count: 1)
    holder.signal(SIGTERM)
    try await holder.log(holds: "handing over: posts are taken")
    try await device(at: holder).post(["path": "/2"]).require(202)
    try await device(at: spare).post(["path": "/3"]).require(202)
    #expect(!holder.log.contains("\"draining\""))
    gate.change { $0 = true }
    #expect(try await holder.ending() == .exit(0))
    try await device(at: spare).post(["path": "/4"]).require(202)
    let received = try await upstream.received(count: 4)
    #expect(received.map(\.target) == ["/slow", "/2", "/3", "/4"])
  }

  /// Waits until the relay with the store knows of the spare: it hands over to nobody else.
  private func knowEachOther() async throws {
    try await startBoth()
    try await eventually("both relays in the status") {
      let status = try await device(at: holder).get("/status").json()
      let store = status["store"] as? [String: Any]
      return (store?["relays"] as? [Any])?.count == 2 ? true : nil
    }
  }

  @Test("no post to the one that is stopped is refused: its successor answers what comes after")
  func stoppedUnderLoad() async throws {
    try await knowEachOther()
    let connection = try Connection(port: holder.port(of: 0))
    var taken = 0
    while true {
      let number = taken + 1
      // The relay closes it between two requests, once the other one has the store.
      let answer = try await onThread { () -> WireResponse? in
        try? connection.write(Bytes.post("/\(number)", key: "\(number)"))
        return try? connection.readResponse(to: "POST")
      }
      guard let answer else { break }
      try answer.require(202)
      taken += 1
      if taken == 20 { holder.signal(SIGTERM) }
    }
    #expect(taken >= 20)
    #expect(try await holder.ending() == .exit(0))
    let received = try await upstream.received(count: taken)
    #expect(received.map(\.target) == (1...taken).map { "/\($0)" })
  }

  @Test("one that has just begun to wait gets the store handed over, as others do")
  func newSpare() async throws {
    // It is not in the status yet.
    try await startBoth()
    holder.signal(SIGTERM)
    try await holder.log(holds: "handing over")
    #expect(try await holder.ending() == .exit(0))
    try await device(at: spare).post(["path": "/1"]).require(202)
  }

  @Test("who has taken the store keeps no connection to the one that had it")
  func formerLinks() async throws {
    try await knowEachOther()
    let port = holder.port(of: 1)
    try await device(at: spare).post(["path": "/1"]).require(202)
    #expect(try Self.connectionCount(to: port) > 0)
    holder.signal(SIGTERM)
    #expect(try await holder.ending() == .exit(0))
    try await device(at: spare).post(["path": "/2"]).require(202)
    try await eventually("no connection to the former relay") {
      try Self.connectionCount(to: port) == 0 ? true : nil
    }
  }

  /// The number of connections of this machine that somebody holds to a port.
  private static func connectionCount(to port: UInt16) throws -> Int {
    // Its lines are: number, local address, remote address, state, and others (proc_net(5)).
    let held: Set = ["01", "08"]  // Established, and closed by the other end alone.
    let remote = ":" + String(format: "%04X", port)
    let table = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/net/tcp")).readToEnd()
    return String(decoding: table ?? Data(), as: UTF8.self)
      .split(separator: "\n").map { $0.split(separator: " ") }
      .count { $0.count > 3 && $0[2].hasSuffix(remote) && held.contains(String($0[3])) }
  }

  /// Listens to a relay's events, and again at once when they end, as a page does.
  ///
  /// - Returns: How many streams have begun and ended, once the relay takes no connection any more.
  private func follow(_ relay: Relay) async throws -> Task<Int, any Error> {
    let port = relay.port(of: 0)
    let first = try Connection(port: port)
    try await onThread { try first.beginListening() }
    return Task {
      try await onThread {
        var endings = 0
        var next: Connection? = first
        while let connection = next {
          // Nobody ends it but the relay, by its last chunk, or with the connection.
          _ = try? connection.read(through: "\r\n0\r\n\r\n")
          endings += 1
          next = try? Connection(port: port)
          guard (try? next?.beginListening()) != nil else { return endings }
        }
        return endings
      }
    }
  }

  @Test("whoever listens to events, or waits, keeps nobody: it is sent away, and away again")
  func listeners() async throws {
    try await knowEachOther()
    let listening = try await follow(holder)
    try await device(at: holder).post(["path": "/1"]).require(202)
    holder.signal(SIGTERM)
    // Its grace period is 30 seconds, and a test that waits for a line of the log waits for 20.
    try await holder.log(holds: "\"stopped\"")
    #expect(try await holder.ending() == .exit(0))
    let endings = try await listening.value
    // The stream of the relay that had the store, and those that it passed on to who came again
    // before it had ended.
    #expect(endings >= 1)
    try await device(at: spare).post(["path": "/2"]).require(202)
  }

  @Test("a body that is being read is read to its end before the store is given up")
  func download() async throws {
    try await knowEachOther()
    let body = [UInt8](repeating: 7, count: 24_000_000)
    upstream.behave { _ in .answer(503) }
    let posted = try await device(at: holder).relay("POST", "/large", body: body)
    let id = try #require(try posted.json()["id"] as? String)
    let connection = try Connection(port: holder.port(of: 0))
    try await onThread {
      try connection.write(
        Array(
          """
          GET /v1/envelopes/\(id)/body HTTP/1.1\r
          Host: relay\r
          Authorization: Bearer \(Credentials.steer)\r
          \r\n
          """.utf8))
    }
    try await device(at: holder).post(["path": "/1"]).require(202)
    holder.signal(SIGTERM)
    try await holder.log(holds: "handing over")
    // More than the sockets hold is still to be read.
    try await device(at: holder).post(["path": "/2"]).require(202)
    #expect(!holder.log.contains("\"draining\""))
    let answer = try await onThread { try connection.readResponse(to: "GET") }
    #expect(answer.status == 200 && answer.body == body)
    #expect(try await holder.ending() == .exit(0))
  }

  @Test("a sender that is slow does not keep the store from the next relay")
  func slowSender() async throws {
    try await knowEachOther()
    let slow = try Connection(port: holder.port(of: 0))
    try await onThread { try slow.write(Bytes.beginningOfPost) }
    // Its request is under way once a later one of another connection is answered.
    try await device(at: holder).post(["path": "/1"]).require(202)
    holder.signal(SIGTERM)
    try await spare.log(holds: "line taken up")
    try await device(at: spare).post(["path": "/2"]).require(202)
    let refused = try await onThread {
      try slow.write(Array("b".utf8))
      return try slow.readResponse(to: "POST")
    }
    #expect(refused.status == 503 && refused["Retry-After"] != nil, "\(refused)")
    #expect(try await holder.ending() == .exit(0))
    #expect(try await upstream.received(count: 2).map(\.target) == ["/1", "/2"])
  }
}

extension Connection {
  /// Asks for the events, and reads until they begin.
  fileprivate func beginListening() throws {
    try write(Bytes.events)
    guard let head = try read(through: "\r\n\r\n"),
      String(decoding: head, as: UTF8.self).hasPrefix("HTTP/1.1 200")
    else { throw EndedEarly() }
  }
}

/// A connection has ended before its answer began.
private struct EndedEarly: Error {}

/// Requests as bytes.
private enum Bytes {
  static let events = Array(
    """
    GET /v1/events HTTP/1.1\r
    Host: relay\r
    Authorization: Bearer \(Credentials.steer)\r
    \r\n
    """.utf8)

  static func post(_ path: String, key: String) -> [UInt8] {
    let body = #"{"client":"device-1","path":"\#(path)","key":"\#(key)"}"#
    return Array(
      """
      POST /v1/envelopes HTTP/1.1\r
      Host: relay\r
      Content-Type: application/json\r
      Content-Length: \(body.utf8.count)\r
      \r
      \(body)
      """.utf8)
  }

  /// One byte of its body is missing.
  static let beginningOfPost = Array(
    """
    POST /v1/relay/default/slow HTTP/1.1\r
    Host: relay\r
    Waystation-Client: device-2\r
    Content-Length: 2\r
    \r
    a
    """.utf8)
}
#endif

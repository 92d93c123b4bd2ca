import EventLoop
import HTTPServer
import RelayCore
import Testing

@Suite("A peer that leaves while it waits", .timeLimit(.minutes(5)))
struct PeerTests {
  /// A server whose answers come when the handler's task is cancelled.
  ///
  /// - Parameter onRequest: Called when a handler is at work.
  private static func patientServer(
    onRequest: @escaping @Sendable () -> Void = {}
  ) throws -> TestServer {
    try TestServer { _ in
      onRequest()
      // Nothing ever comes: the stream ends only with the task's cancellation.
      let (never, end) = AsyncStream.makeStream(of: Void.self)
      for await _ in never {}
      end.finish()
      return HTTPResponse(status: Task.isCancelled ? 202 : 500)
    }
  }

  @Test("a handler whose peer has gone is told, and the connection is let go")
  func gone() async throws {
    let (requests, arrival) = AsyncStream.makeStream(of: Void.self)
    let server = try Self.patientServer { arrival.yield() }
    let client = try await server.connect()
    try await client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    for await _ in requests { break }
    client.socket.close()
    // Ends only once no connection is left, long before the handler's own time is up.
    let deadline = MonotonicClock.now().adding(milliseconds: 30_000)
    #expect(await server.server.drain(until: deadline) == 0)
  }

  @Test("whoever is served next has nothing of that: its handler is not cancelled")
  func next() async throws {
    let (requests, arrival) = AsyncStream.makeStream(of: Void.self)
    let server = try TestServer { request in
      guard request.head.path.elementsEqual("/wait".utf8) else {
        return HTTPResponse(status: Task.isCancelled ? 500 : 200)
      }
      arrival.yield()
      let (never, _) = AsyncStream.makeStream(of: Void.self)
      for await _ in never {}
      return HTTPResponse(status: 202)
    }
    let other = try await server.connect()
    var arrivals = requests.makeAsyncIterator()
    for _ in 0..<100 {
      let client = try await server.connect()
      try await client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = await arrivals.next()
      client.socket.close()
      try await other.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
      let answer = try await other.read(through: "\r\n\r\n")
      #expect(answer.hasPrefix("HTTP/1.1 200"))
    }
    await server.stop()
  }

  @Test("a peer that has ended only its own side gets its answer, at once")
  func halfClosed() async throws {
    let server = try Self.patientServer()
    let client = try await server.connect()
    try await client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    client.socket.shutdownWrites()
    #expect(try await client.readToEnd().hasPrefix("HTTP/1.1 202"))
    await server.stop()
  }

  @Test("requests that came before the end of the peer's side are all answered")
  func pipelined() async throws {
    let server = try TestServer()
    let client = try await server.connect()
    let requests = (0..<20).map { "POST /\($0) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi" }
    try await client.send(requests.joined())
    client.socket.shutdownWrites()
    let answers = try await client.readToEnd()
    for index in 0..<20 { #expect(answers.contains("POST /\(index) hi")) }
    await server.stop()
  }
}

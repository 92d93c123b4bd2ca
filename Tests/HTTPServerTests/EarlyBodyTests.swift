import EventLoop
import HTTPServer
import Testing

@Suite("Bodies that are still coming in", .timeLimit(.minutes(5)))
struct EarlyBodyTests {
  @Test("one that ends early brings what has come, and then fails")
  func endsEarly() async throws {
    let (bodies, signal) = AsyncStream.makeStream(of: RequestBody.self)
    let server = try TestServer { request in
      signal.yield(request.body)
      var count = 0
      do throws(RequestBodyError) {
        while let piece = try await request.body.read() { count += piece.count }
        return HTTPResponse(status: 200)
      } catch {
        return HTTPResponse(status: 200, body: .bytes(Array("\(error) at \(count)".utf8)))
      }
    }
    let client = try await server.connect()
    let part = String(repeating: "x", count: 30_000)
    try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n\(part)")
    for await body in bodies {
      body.endEarly()
      break
    }
    #expect(try await client.readToEnd().hasSuffix("cutOff at 30000"))
    await server.stop()
  }

  @Test("an interim response goes out before the body has come whole")
  func interim() async throws {
    let server = try TestServer { request in
      await request.body.sendInterim(104, "So Far", [("X-Place", "5"), ("X-More", "yes")])
      let bytes = (try? await request.body.collect(upTo: 100)) ?? []
      return HTTPResponse(status: 200, body: .bytes(bytes))
    }
    let client = try await server.connect()
    try await client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfirst")
    let head = try await client.read(through: "\r\n\r\n")
    #expect(head == "HTTP/1.1 104 So Far\r\nX-Place: 5\r\nX-More: yes\r\n\r\n")
    try await client.send("-half")
    #expect(try await client.read(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(try await client.read(through: "half") == "first-half")
    await server.stop()
  }
}

import EventLoop
import HTTPServer
import RelayCore
import Synchronization
import Testing

@Suite("A server over TLS", .timeLimit(.minutes(5)))
struct SecureServerTests {
  @Test("who changes keys without end is cut off")
  func flood() async throws {
    let server = try SecureServer()
    let isTaken = try await onThread { [address = server.secure] in
      let peer = try SecurePeer(to: address)
      let flood = try peer.records("x", keyChangesBeforeEach: 20_000)
      return peer.sendRaw(flood + flood) && peer.readToEnd().isAnnounced
    }
    #expect(!isTaken)
    await server.stop()
  }

  @Test("who changes keys at every byte is served, and keeps nobody on its loop waiting")
  func turns() async throws {
    let order = Mutex<[String]>([])
    let server = try SecureServer { request in
      let target = String(decoding: request.head.target, as: UTF8.self)
      order.withLock { $0.append(target) }
      return HTTPResponse(status: 200, body: .bytes(Array(target.utf8)))
    }
    let target = "/" + String(repeating: "a", count: 600)
    let peer = try await onThread { [address = server.secure] in try SecurePeer(to: address) }
    let flood = try await onThread {
      try peer.records(
        "GET \(target) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        keyChangesBeforeEach: 32)
    }
    let other = TestClient(try await Socket.connect(to: server.plain, on: TestLoops.all[0]))
    async let answer = onThread {
      _ = peer.sendRaw(flood)
      return peer.readToEnd()
    }
    // The flood takes some 160 turns. On a busy machine this end comes to its own late, too.
    for number in 1...2 {
      try await other.send("GET /\(number) HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await other.read(through: "\r\n\r\n/\(number)")
    }
    let (text, isAnnounced) = try await answer
    #expect(text.hasSuffix(target))
    #expect(isAnnounced)
    #expect(order.withLock { $0 } == ["/1", "/2", target])
    await server.stop()
  }

  @Test("who sends without a pause behind its last request keeps nobody waiting")
  func linger() async throws {
    let server = try SecureServer()
    let flooder = TestClient(try await Socket.connect(to: server.plain, on: TestLoops.all[0]))
    let flood = Task {
      try await flooder.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
      while !Task.isCancelled { try await flooder.send(String(repeating: "x", count: 65_536)) }
    }
    let other = TestClient(try await Socket.connect(to: server.plain, on: TestLoops.all[1]))
    for number in 1...5 {
      try await other.send("GET /\(number) HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await other.read(through: "GET /\(number) ")
    }
    flood.cancel()
    flooder.socket.close()
    await server.stop()
  }

  @Test("the end is announced before this side ends, also where the peer may still be sending")
  func announcedEnd() async throws {
    let server = try SecureServer()
    let (text, isAnnounced) = try await onThread { [address = server.secure] in
      let peer = try SecurePeer(to: address)
      peer.write("GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
      return peer.readToEnd()
    }
    #expect(text.hasSuffix("GET /last "))
    #expect(isAnnounced)
    await server.stop()
  }
}

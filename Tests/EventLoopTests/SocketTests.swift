import EventLoop
import Foundation
import Glibc
import RelayCore
import Synchronization
import Testing

@Suite("Sockets on an event loop", .timeLimit(.minutes(5)))
struct SocketTests {
  private struct Pair {
    let loop: EventLoop
    let near: Socket
    let far: Socket

    init() async throws {
      loop = try EventLoop(name: "test")
      let listener = try Listener(.loopback(port: 0), on: loop)
      near = try await Socket.connect(to: listener.address, on: loop)
      guard let accepted = await listener.accept() else { throw Missing() }
      far = try accepted.socket(on: loop)
    }

    func stop() {
      near.close()
      far.close()
      loop.stop()
    }
  }

  private struct Missing: Error {}

  private func inMs(_ delayMs: Int64) -> MonotonicTime {
    MonotonicClock.now().adding(milliseconds: delayMs)
  }

  @Test("bytes arrive, in both directions, and the end is seen")
  func roundTrip() async throws {
    let pair = try await Pair()
    try await pair.near.write(Array("head ".utf8), Array("body".utf8))
    #expect(try await pair.far.read(upTo: 100) == Array("head body".utf8))
    pair.near.shutdownWrites()
    #expect(try await pair.far.read(upTo: 100).isEmpty)
    try await pair.far.write(Array("still".utf8))
    #expect(try await pair.near.read(upTo: 100) == Array("still".utf8))
    pair.stop()
  }

  @Test("the end that comes together with the last bytes is not missed")
  func endWithBytes() async throws {
    for _ in 0..<200 {
      let pair = try await Pair()
      let reader = Task {
        var count = 0
        while case let bytes = try await pair.far.read(upTo: 4096, until: inMs(5000)),
          !bytes.isEmpty
        {
          count += bytes.count
        }
        return count
      }
      try await pair.near.write(Array("last words".utf8))
      pair.near.close()
      #expect(try await reader.value == 10)
      pair.stop()
    }
  }

  @Test("a large write waits for a slow reader, and nothing is lost or mixed up")
  func largeWrite() async throws {
    let pair = try await Pair()
    let head = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let body = (0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) }
    let writer = Task {
      try await pair.near.write(head, body)
      pair.near.shutdownWrites()
    }
    var received: [UInt8] = []
    while case let bytes = try await pair.far.read(upTo: 50_000), !bytes.isEmpty {
      received += bytes
    }
    try await writer.value
    #expect(received == head + body)
    pair.stop()
  }

  @Test("a read whose deadline passes ends with a timeout, and the socket still works")
  func readDeadline() async throws {
    let pair = try await Pair()
    let deadline = inMs(30)
    await #expect { try await pair.far.read(upTo: 10, until: deadline) } throws: { error in
      (error as? SystemError)?.isTimeout == true
    }
    #expect(MonotonicClock.now() >= deadline)
    try await pair.near.write([1])
    #expect(try await pair.far.read(upTo: 10, until: inMs(5000)) == [1])
    pair.stop()
  }

  @Test("who waits without a task is called once: for bytes, at the deadline, or for the close")
  func callsBack() async throws {
    for way in 0..<3 {
      let pair = try await Pair()
      var room = [UInt8](repeating: 0, count: 16)
      let count = try room.withUnsafeMutableBytes { try pair.far.tryRead(into: $0) }
      #expect(count == nil)
      #expect(!pair.far.mayRead)
      let (calls, call) = AsyncStream.makeStream(of: Void.self)
      let deadline = inMs(way == 1 ? 30 : 60_000)
      #expect(pair.far.onInput(until: deadline) { call.yield() })
      switch way {
      case 0: try await pair.near.write([1])
      case 1: break
      default: pair.far.close()
      }
      for await _ in calls { break }
      #expect((MonotonicClock.now() >= deadline) == (way == 1))
      // There is something to read, or an end to be seen: nothing to wait for.
      if way != 1 { #expect(!pair.far.onInput(until: deadline) { call.yield() }) }
      pair.stop()
    }
  }

  @Test("a write that nobody reads stalls out")
  func writeStall() async throws {
    let pair = try await Pair()
    let bytes = [UInt8](repeating: 0, count: 64 << 20)
    await #expect { try await pair.near.write(bytes, stallMs: 50) } throws: { error in
      (error as? SystemError)?.isTimeout == true
    }
    pair.stop()
  }

  @Test("closing from another thread wakes whoever waits")
  func closeWakes() async throws {
    let pair = try await Pair()
    let reader = Task { try await pair.far.read(upTo: 10) }
    await pair.loop.sleep(until: inMs(10))
    pair.far.close()
    await #expect { try await reader.value } throws: { error in
      (error as? SystemError)?.isClosed == true
    }
    pair.stop()
  }

  @Test("reports for a closed descriptor do not reach the next one with its number")
  func reusedDescriptor() async throws {
    let loop = try EventLoop(name: "test")
    let listener = try Listener(.loopback(port: 0), on: loop)
    for round in 0..<300 {
      let near = try await Socket.connect(to: listener.address, on: loop)
      guard let accepted = await listener.accept() else { throw Missing() }
      let far = try accepted.socket(on: loop)
      try await near.write([UInt8(truncatingIfNeeded: round)])
      #expect(try await far.read(upTo: 10) == [UInt8(truncatingIfNeeded: round)])
      // Closed while the last reports are on their way; the next round has the same numbers.
      far.close()
      near.close()
    }
    loop.stop()
  }

  @Test("connecting where nobody listens is refused with the address in the error")
  func refusedConnect() async throws {
    let loop = try EventLoop(name: "test")
    let listener = try Listener(.loopback(port: 0), on: loop)
    let address = listener.address
    listener.close()
    await #expect { try await Socket.connect(to: address, on: loop) } throws: { error in
      guard let error = error as? SystemError else { return false }
      return error.code == ECONNREFUSED && error.description.contains(address.description)
    }
    loop.stop()
  }

  @Test("a second listener on the same address is refused")
  func addressInUse() throws {
    let loop = try EventLoop(name: "test")
    let listener = try Listener(.loopback(port: 0), on: loop)
    #expect { try Listener(listener.address, on: loop) } throws: { error in
      (error as? SystemError)?.code == EADDRINUSE
    }
    listener.close()
    loop.stop()
  }

  /// Whether the kernel has given the loopback its IPv6 address: `::1`, written out.
  private static let hasIPv6 =
    (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?
    .contains("00000000000000000000000000000001 ") == true

  @Test(
    "a connection over IPv6 carries bytes both ways, and names its peer",
    .enabled(if: hasIPv6, "this machine has no IPv6"))
  func ipv6() async throws {
    let loop = try EventLoop(name: "test")
    defer { loop.stop() }
    let listener = try Listener(try #require(SocketAddress("[::1]:0")), on: loop)
    let address = listener.address
    #expect(address.description.hasPrefix("[::1]:"))
    #expect(address.port != 0)
    let near = try await Socket.connect(to: address, on: loop)
    guard let accepted = await listener.accept() else { throw Missing() }
    guard case .tcp(let peer) = accepted.peer else { throw Missing() }
    #expect(peer.host == address.host)
    #expect(peer.port != 0 && peer.port != address.port)
    let far = try accepted.socket(on: loop)
    try await near.write([1, 2])
    #expect(try await far.read(upTo: 10, until: inMs(60_000)) == [1, 2])
    try await far.write([3])
    #expect(try await near.read(upTo: 10, until: inMs(60_000)) == [3])
    near.close()
  }

  @Test(
    "an address that is read prints as it was written",
    arguments: ["127.0.0.1:8080", "0.0.0.0:0", "[::1]:80", "[2001:db8::7]:65535", "[::]:1"])
  func addresses(_ text: String) throws {
    #expect(try #require(SocketAddress(text)).description == text)
  }

  @Test("an address without a host means every IPv4 interface")
  func everyInterface() throws {
    #expect(try #require(SocketAddress(":8080")).description == "0.0.0.0:8080")
  }

  @Test(
    "what is not an address and a port is not read",
    arguments: [
      "", "8080", "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
      "127.0.0.1:+1", "::1:80", "[::1]", "[::1:80", "1.2.3:80", "1.2.3.4.5:80", "1.2.3.4:080808",
      "1.2.3.4: 80", "[127.0.0.1]:80",
    ])
  func notAddresses(_ text: String) {
    #expect(SocketAddress(text) == nil)
  }
}

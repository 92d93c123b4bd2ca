import EventLoop
import Testing

@testable import HTTPServer

@Suite("How many connections there may be")
struct ConnectionCountsTests {
  private func peer(_ text: String) throws -> PeerAddress {
    .tcp(try #require(SocketAddress(text)))
  }

  private func refusal(
    _ body: () throws(ConnectionCounts.Refusal) -> ConnectionCounts.Place
  ) -> ConnectionCounts.Refusal? {
    do throws(ConnectionCounts.Refusal) {
      _ = try body()
      return nil
    } catch {
      return error
    }
  }

  @Test("one address cannot take them all, and gets its places back")
  func peers() throws {
    var limits = HTTPLimits()
    limits.connectionsMax = 5
    limits.connectionsPerPeerMax = 2
    var counts = ConnectionCounts()
    let greedy = try peer("192.0.2.1:1000")
    let place = try counts.admit(greedy, in: .common, limits: limits)
    _ = try counts.admit(greedy, in: .common, limits: limits)
    let again = try peer("192.0.2.1:2000")
    #expect(
      refusal { () throws(ConnectionCounts.Refusal) in
        try counts.admit(again, in: .common, limits: limits)
      } == .tooManyOfPeer)
    _ = try counts.admit(try peer("192.0.2.2:1"), in: .common, limits: limits)
    counts.release(place)
    _ = try counts.admit(again, in: .common, limits: limits)
    // Processes of this machine are nobody's address.
    for _ in 0..<2 { _ = try counts.admit(.unix, in: .common, limits: limits) }
    #expect(
      refusal { () throws(ConnectionCounts.Refusal) in
        try counts.admit(.unix, in: .common, limits: limits)
      } == .tooMany)
  }

  @Test("all addresses of an IPv6 network count as one")
  func networks() throws {
    var limits = HTTPLimits()
    limits.connectionsPerPeerMax = 2
    var counts = ConnectionCounts()
    for host in 1...2 {
      _ = try counts.admit(
        try peer("[2001:db8:0:1::\(host)]:80"), in: .common, limits: limits)
    }
    let third = try peer("[2001:db8:0:1:ffff::9]:80")
    #expect(
      refusal { () throws(ConnectionCounts.Refusal) in
        try counts.admit(third, in: .common, limits: limits)
      } == .tooManyOfPeer)
    _ = try counts.admit(try peer("[2001:db8:0:2::1]:80"), in: .common, limits: limits)
  }

  @Test("what is reserved is there however many others come, and is bounded as well")
  func reserved() throws {
    var limits = HTTPLimits()
    limits.connectionsMax = 1
    limits.reservedConnectionsMax = 2
    var counts = ConnectionCounts()
    let device = try peer("192.0.2.1:1")
    _ = try counts.admit(device, in: .common, limits: limits)
    #expect(
      refusal { () throws(ConnectionCounts.Refusal) in
        try counts.admit(device, in: .common, limits: limits)
      } == .tooMany)
    let place = try counts.admit(device, in: .reserved, limits: limits)
    _ = try counts.admit(device, in: .reserved, limits: limits)
    #expect(
      refusal { () throws(ConnectionCounts.Refusal) in
        try counts.admit(device, in: .reserved, limits: limits)
      } == .tooMany)
    counts.release(place)
    _ = try counts.admit(device, in: .reserved, limits: limits)
  }
}

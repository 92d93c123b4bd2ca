import Cryptography
import EventLoop
import HTTPServer
import RelayCore
import Testing

@testable import RelayServer

@Suite("Where a request came in that another relay passes on")
struct PassedOriginTests {
  private static let listeners: [ListenerConfiguration] = {
    var devices = ListenerConfiguration.loopback(port: 1)
    devices.audience = .devices
    var relays = ListenerConfiguration.loopback(port: 2)
    relays.audience = .relays
    return [devices, ListenerConfiguration.loopback(port: 3), relays]
  }()

  private func passed(_ origin: RequestOrigin, at listener: ListenerConfiguration) -> String {
    String(decoding: PassedOrigin(origin, at: listener).fieldValue, as: UTF8.self)
  }

  /// What a relay makes of a request with these fields on its listener for relays.
  private func unwrapped(_ fields: String) throws -> HTTPRequest {
    let text = "GET /v1/envelopes HTTP/1.1\r\nHost: relay\r\n\(fields)\r\n"
    let origin = RequestOrigin(listener: 2, peer: .tcp(.loopback(port: 9)))
    let request = try #require(HTTPRequest(parsing: Array(text.utf8), origin: origin))
    return try PassedOrigin.unwrap(request, Self.listeners, PassedOriginMemory())
  }

  @Test("everything that was seen of the sender comes through", arguments: [true, false])
  func roundTrip(hasCertificate: Bool) throws {
    let certificate = PeerCertificate(
      commonName: "truck \"7\" ü", dnsNames: ["a.example", "b.example"], uris: ["urn:truck:7"],
      emails: ["t@example.com"], fingerprint: [UInt8](0..<32), validUntilSeconds: 1_900_000_000)
    let origin = RequestOrigin(
      listener: 1, peer: .tcp(try #require(SocketAddress("[2001:db8::7]:4711"))),
      local: .ipv4(0x0A00_0001), certificate: hasCertificate ? certificate : nil)
    let value = passed(origin, at: Self.listeners[1])
    let request = try unwrapped("Waystation-Passed: \(value)\r\n")
    #expect(request.origin == origin)
    #expect(request.head.value(of: "Waystation-Passed") == nil, "no endpoint sees the field")
    #expect(request.head.string(of: "Host") == "relay")
  }

  @Test("a sender on a Unix socket comes through as one")
  func unixSocket() throws {
    let origin = RequestOrigin(listener: 0, peer: .unix)
    let value = passed(origin, at: Self.listeners[0])
    #expect(try unwrapped("Waystation-Passed: \(value)\r\n").origin == origin)
  }

  @Test("what no relay has written is not served", arguments: ["", "e30=", "nonsense", "bnVsbA=="])
  func strangers(value: String) throws {
    let field = value.isEmpty ? "" : "Waystation-Passed: \(value)\r\n"
    let problem = try #require(throws: Problem.self) { try unwrapped(field) }
    #expect(problem.kind == .notFound)
  }

  @Test("an end of a certificate that no certificate can have is not believed")
  func endOfTime() throws {
    let certificate = PeerCertificate(
      commonName: "truck-7", fingerprint: [UInt8](0..<32), validUntilSeconds: .min / 2)
    let origin = RequestOrigin(listener: 1, peer: .unix, certificate: certificate)
    let value = passed(origin, at: Self.listeners[1])
    let problem = try #require(throws: Problem.self) {
      try unwrapped("Waystation-Passed: \(value)\r\n")
    }
    #expect(problem.kind == .notFound)
    #expect(certificate.validUntil < .never)
  }

  @Test("a listener that is not there, or is for others, is told as a difference", arguments: 0...3)
  func difference(number: Int) throws {
    let origin = RequestOrigin(listener: number, peer: .unix)
    var listener = ListenerConfiguration.loopback(port: 1)
    listener.audience = number == 2 ? .relays : .operators
    let value = passed(origin, at: listener)
    let problem = try #require(throws: Problem.self) {
      try unwrapped("Waystation-Passed: \(value)\r\n")
    }
    #expect(problem.kind == .noLeader)
    #expect(problem.detail.contains("have different listeners"))
  }
}

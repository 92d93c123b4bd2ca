#if PostgreSQL
import Foundation
import Glibc
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "Requests that a spare passes on", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct Passing {
    let upstream: TestUpstream
    private let proxy: LossyProxy
    let authority: CertificateAuthority
    private let proxyURL: String
    let holder: Relay
    /// It reaches the database by the proxy.
    let spare: Relay

    init() async throws {
      upstream = try TestUpstream()
      let database = try TestDatabase.fresh()
      let port = try #require(URL(string: database.url)?.port)
      proxy = try LossyProxy(to: UInt16(port))
      authority = try await CertificateAuthority(name: "relays")
      proxyURL = database.url.replacingOccurrences(of: ":\(port)/", with: ":\(proxy.port)/")
      holder = try await Self.relay("relay-1", upstream, authority, database.url)
      spare = try await Self.relay("relay-2", upstream, authority, proxyURL)
    }

    /// A relay with a listener for devices and operators, and one for relays.
    ///
    /// - Parameters:
    ///   - relaysPort: The port for other relays; 0 for any.
    ///   - detour: The port at which others reach it; nil for its own.
    ///   - limits: What it has in place of the tests' limits.
    static func relay(
      _ name: String, _ upstream: TestUpstream, _ authority: CertificateAuthority, _ url: String,
      at relaysPort: UInt16 = 0, reachedBy detour: UInt16? = nil, limits: [String: Int]? = nil
    ) async throws -> Relay {
      let pair = try await authority.sign(name, subject: "/CN=\(name)")
      return try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        more: settings.merging(limits.map { ["limits": $0] } ?? [:]) { _, given in given },
        listen: listeners(pair, authority, at: relaysPort, advertising: detour),
        environment: ["WAYSTATION_POSTGRES_URL": url, "WAYSTATION_ANONYMOUS": "allow"])
    }

    static var settings: [String: any Sendable] {
      [
        "log": ["access": true], "limits": ["bodyBytesMax": 32 << 20],
        "access": ["operators": Credentials.operators],
      ]
    }

    static func listeners(
      of name: String, _ authority: CertificateAuthority, at port: UInt16
    ) -> [any Sendable] {
      let folder = authority.folder.path
      let pair = CertificateAuthority.Pair(
        certificate: "\(folder)/\(name).pem", key: "\(folder)/\(name).key")
      return listeners(pair, authority, at: port)
    }

    private static func listeners(
      _ pair: CertificateAuthority.Pair, _ authority: CertificateAuthority, at port: UInt16 = 0,
      advertising link: UInt16? = nil
    ) -> [any Sendable] {
      let tls = pair.listener.merging([
        "clientCertificates": ["authorities": authority.certificate]
      ]) { _, given in given }
      var relays: [String: any Sendable] = [
        "address": "127.0.0.1:\(port)", "for": "relays", "tls": tls,
      ]
      if let link { relays["advertise"] = "127.0.0.1:\(link)" }
      return ["127.0.0.1:0", relays]
    }

    func startBoth() async throws {
      try await holder.start()
      // It listens before it has the store.
      try await holder.log(holds: "line taken up")
      try await spare.start()
      try await spare.log(holds: "this one waits as a spare")
    }

    func device(at relay: Relay, token: String? = nil) -> Device {
      Device("device-1", port: relay.port(of: 0), token: token)
    }

    /// The paths in the order of their first attempts.
    private var firstAttempts: [String] {
      var seen: Set<String> = []
      return upstream.received.map(\.target).filter { seen.insert($0).inserted }
    }

    @Test("a post is stored and delivered in its order, whichever relay it comes to")
    func posts() async throws {
      try await startBoth()
      for number in 1...20 {
        let relay = number.isMultiple(of: 2) ? spare : holder
        try await device(at: relay).post(["path": "/\(number)", "key": "\(number)"]).require(202)
      }
      try await upstream.received(count: 20)
      #expect(firstAttempts == (1...20).map { "/\($0)" })
      let again = try await device(at: spare).post(["path": "/3", "key": "3"])
      #expect(try again.json()["result"] as? String == "duplicate")
      #expect(try await device(at: spare).get("/readyz").status == 200)
      let missing = try await device(at: spare).get("/v1/clients/nobody")
      #expect(missing.status == 404 && missing.problem == "unknown-client")
    }

    @Test("an upload goes on over whichever relay, also after the one that had it was killed")
    func upload() async throws {
      try await startBoth()
      let fields = ["Waystation-Client": "device-1", "Upload-Complete": "?0"]
      let begun = try await device(at: spare).request(
        "POST", "/v1/relay/default/p", headers: fields, body: [1, 2])
      #expect(begun.status == 201 && begun["Upload-Offset"] == "2", "\(begun)")
      let location = try #require(begun["Location"])
      func append(_ byte: UInt8, at offset: Int, _ completes: Bool) async throws -> WireResponse {
        try await device(at: spare).request(
          "PATCH", location, headers: Uploader.appending(at: offset, completes: completes),
          body: [byte])
      }
      let part = try await append(3, at: 2, false)
      #expect(part.status == 204 && part["Upload-Offset"] == "3", "\(part)")
      let state = try await device(at: spare).request("HEAD", location)
      #expect(state.status == 204 && state["Upload-Offset"] == "3", "\(state)")
      try await holder.kill()
      let last = try await append(4, at: 3, true)
      #expect(last.status == 202 && last["Upload-Complete"] == "?1", "\(last)")
      #expect(try await upstream.received(count: 1)[0].body == [1, 2, 3, 4])
    }

    @Test("no post is refused while the relay that has the store is killed")
    func killed() async throws {
      try await startBoth()
      let device = device(at: spare)
      for number in 1...5 { try await device.post(["path": "/\(number)"]).require(202) }
      try await holder.kill()
      for number in 6...10 { try await device.post(["path": "/\(number)"]).require(202) }
      try await upstream.received("the last one") { $0.last?.target == "/10" }
      #expect(firstAttempts == (1...10).map { "/\($0)" })
    }

    @Test("one that is stopped is followed by the spare, and passes on once it is started again")
    func rolling() async throws {
      try await startBoth()
      let device = device(at: spare)
      try await device.post(["path": "/1"]).require(202)
      holder.signal(SIGTERM)
      #expect(try await holder.ending() == .exit(0))
      try await device.post(["path": "/2"]).require(202)
      try await holder.start()
      try await holder.log(holds: "this one waits as a spare")
      try await self.device(at: holder).post(["path": "/3"]).require(202)
      try await upstream.received(count: 3)
      #expect(firstAttempts == ["/1", "/2", "/3"])
    }

    @Test("large bodies are passed on both ways, whether their length is stated or not")
    func largeBodies() async throws {
      upstream.behave { _ in .answer(503) }
      try await startBoth()
      let body = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
      let stated = try await device(at: spare).relay("POST", "/stated", body: body)
      var chunks = Array(
        """
        POST /v1/relay/default/chunked HTTP/1.1\r
        Host: relay\r
        Waystation-Client: device-2\r
        Transfer-Encoding: chunked\r
        \r\n
        """.utf8)
      for start in stride(from: 0, to: body.count, by: 100_000) {
        chunks += Array("186a0\r\n".utf8) + body[start..<start + 100_000] + [0x0D, 0x0A]
      }
      chunks += Array("0\r\n\r\n".utf8)
      let chunked = try await device(at: spare).raw(chunks, method: "POST")
      for posted in [stated, chunked] {
        let id = try #require(try posted.json()["id"] as? String)
        let read = try await device(at: spare, token: Credentials.steer).get(
          "/v1/envelopes/\(id)/body")
        #expect(read.status == 200 && read.body == body)
      }
    }

    @Test("a body that comes in pieces waits for the relay that takes the store")
    func piecesInTakeover() async throws {
      try await startBoth()
      try await holder.kill()
      let head = """
        POST /v1/relay/default/chunked HTTP/1.1\r
        Host: relay\r
        Waystation-Client: device-1\r
        Transfer-Encoding: chunked\r
        \r\n
        """
      let connection = try Connection(port: spare.port(of: 0))
      let posted = try await onThread {
        try connection.write(Array((head + "5\r\nfirst\r\n").utf8))
        // The rest comes once the spare has the store, or is about to.
        try connection.write(Array("4\r\nlast\r\n0\r\n\r\n".utf8))
        return try connection.readResponse(to: "POST")
      }
      #expect(posted.status == 202)
      let attempt = try await upstream.received(count: 1)
      #expect(attempt.first?.body == Array("firstlast".utf8))
    }

    @Test("a body that is too large is refused before all of it has come")
    func tooLarge() async throws {
      try await startBoth()
      let beginning = """
        POST /v1/relay/default/large HTTP/1.1\r
        Host: relay\r
        Waystation-Client: device-1\r
        Content-Length: 40000000\r
        \r
        \(String(repeating: "x", count: 1000))
        """
      let refused = try await device(at: spare).raw(Array(beginning.utf8), method: "POST")
      #expect(refused.status == 413 && refused.problem == "body-too-large")
    }

    @Test("an answer before the end of a body ends the connection, as it does at the other relay")
    func earlyAnswer() async throws {
      try await startBoth()
      let beginning =
        "GET /v1/envelopes HTTP/1.1\r\nHost: relay\r\nContent-Length: 99999\r\n\r\nhello"
      for relay in [holder, spare] {
        let connection = try Connection(port: relay.port(of: 0))
        let answer = try await onThread {
          try connection.write(Array(beginning.utf8))
          return try connection.readToEnd()
        }
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 200"))
      }
    }

    @Test("events come through as they happen")
    func events() async throws {
      try await startBoth()
      let listener = try await Listener(
        spare, token: Credentials.steer, connection: Connection(port: spare.port(of: 0)))
      try await listener.first("snapshot")
      try await device(at: holder).post(["path": "/1"]).require(202)
      try await listener.first("delivered")
    }

    @Test("who may do what is decided as if the request had come to the other relay")
    func callers() async throws {
      try await startBoth()
      for (token, status) in [(Credentials.read, 403), (Credentials.steer, 200)] {
        let device = device(at: spare, token: token)
        #expect(try await device.request("POST", "/v1/upstreams/default/pause").status == status)
      }
      let forged = try await device(at: spare).get(
        "/v1/tokens", headers: ["Waystation-Passed": "eyJsaXN0ZW5lciI6MH0="])
      #expect(forged.status == 401)
      try await holder.log(holds: "/v1/tokens")
      let lines = holder.log.split(separator: "\n").filter { $0.contains("/v1/tokens") }
      #expect(lines.count == 1 && lines[0].contains("passedOnBy"), "\(lines)")
    }

    @Test("each relay has metrics of its own, for those who may see the other's")
    func metrics() async throws {
      try await startBoth()
      try await device(at: spare).post(["path": "/1"]).require(202)
      #expect(try await device(at: spare, token: "wso_unknown").get("/metrics").status == 401)
      func text(_ relay: Relay) async throws -> String {
        let answer = try await device(at: relay, token: Credentials.read).get("/metrics")
        #expect(answer.status == 200)
        return String(decoding: answer.body, as: UTF8.self)
      }
      let ofSpare = try await text(spare)
      #expect(ofSpare.contains("waystation_spare 1\n"))
      #expect(ofSpare.contains(#"waystation_passed_requests_total{outcome="answered"} 1"#))
      #expect(!ofSpare.contains("waystation_posted_envelopes"))
      // Nobody else sees when it ends: its relays' listener has no other way to be noticed.
      #expect(ofSpare.contains("waystation_certificate_remaining_seconds{certificate=\""))
      #expect(try await text(holder).contains("waystation_spare 0\n"))
    }

    @Test("the status shows all relays that share the store, and which one has it")
    func relays() async throws {
      try await startBoth()
      let device = device(at: spare, token: Credentials.read)
      // A spare shows itself with every fourth beat, and it is read as often.
      let relays = try await eventually("second relay") { () -> [[String: String]]? in
        let store = try await device.get("/status").json()["store"] as? [String: Any]
        let relays = store?["relays"] as? [[String: Any]] ?? []
        return relays.count < 2 ? nil : relays.map { $0.compactMapValues { $0 as? String } }
      }
      #expect(relays.map { $0["role"] } == ["leader", "spare"])
      #expect(relays.allSatisfy { $0["address"]?.hasPrefix("127.0.0.1:") == true })
    }

    @Test("the listener for relays serves nobody else")
    func strangers() async throws {
      try await startBoth()
      let port = holder.port(of: 1)
      let pair = try await authority.sign("tester", subject: "/CN=tester")
      let known = try SecureTunnel(
        port: port, trusting: authority.certificate, ["-cert", pair.certificate, "-key", pair.key])
      let answer = try await known.request("GET", "/healthz")
      #expect(answer.status == 404 && answer.problem == "not-found")
      let unknown = try SecureTunnel(port: port, trusting: authority.certificate, [])
      await #expect(throws: (any Error).self) { try await unknown.request("GET", "/healthz") }
    }

    @Test("a certificate that other relays would not believe ends the start, in words")
    func unbelieved() async throws {
      let stranger = try await CertificateAuthority(name: "stranger")
      let foreign = try await stranger.sign("foreign", subject: "/CN=relay")
      let elsewhere = try await authority.sign(
        "elsewhere", subject: "/CN=relay", names: "DNS:relay-9.example.com")
      for (pair, words) in [
        (foreign, "is not believed as a server's"), (elsewhere, "does not name 127.0.0.1"),
      ] {
        let relay = try Relay(
          upstreams: ["default": Relay.quick(upstream)], more: Self.settings,
          listen: Self.listeners(pair, authority),
          environment: ["WAYSTATION_POSTGRES_URL": proxyURL, "WAYSTATION_ANONYMOUS": "allow"])
        let failure = try await #require(throws: StartFailure.self) { try await relay.start() }
        #expect(failure.description.contains(words), "\(failure)")
      }
    }

    @Test("a spare takes up renewed certificates at a SIGHUP")
    func renewed() async throws {
      try await startBoth()
      let pair = try await authority.sign("relay-2", subject: "/CN=renewed")
      #expect(pair.certificate.hasSuffix("relay-2.pem"))
      spare.signal(SIGHUP)
      try await spare.log(holds: "certificate reloaded")
      #expect(spare.log.contains("renewed"))
      try await device(at: spare).post(["path": "/1"]).require(202)
      try authority.folder.write("relay-2.pem", "broken")
      spare.signal(SIGHUP)
      try await spare.log(holds: "a certificate was not taken")
      try await device(at: spare).post(["path": "/2"]).require(202)
    }

    @Test("without a relay that has the store, posts are turned away with Retry-After")
    func noLeader() async throws {
      proxy.cut()
      try await spare.start()
      let refused = try await device(at: spare).post(["path": "/1"])
      #expect(refused.status == 503 && refused.problem == "no-leader")
      #expect(refused["Retry-After"] != nil)
      #expect(try await device(at: spare).get("/healthz").status == 200)
      #expect(try await device(at: spare).get("/readyz").status == 503)
      spare.signal(SIGTERM)
      #expect(try await spare.ending() == .exit(0))
    }

    @Test("one that is killed and started again at once has no post refused")
    func restartedAtOnce() async throws {
      try await startBoth()
      let device = device(at: spare)
      try await device.post(["path": "/1"]).require(202)
      let port = holder.port(of: 1)
      try await holder.kill()
      // At the same address as before, as whatever starts it again would have it.
      try holder.configure(
        upstreams: ["default": Relay.quick(upstream)],
        more: Self.settings.merging(
          ["listen": Self.listeners(of: "relay-1", authority, at: port)]
        ) { _, given in given })
      try await holder.start()
      try await holder.log(holds: "this one waits as a spare")
      _ = try await self.device(at: holder, token: Credentials.read).get("/metrics")
      let lines = holder.log.split(separator: "\n").filter { $0.contains("/metrics") }
      #expect(lines.count <= 1, "it does not ask itself: \(lines)")
      try await device.post(["path": "/2"]).require(202)
      try await self.device(at: holder).post(["path": "/3"]).require(202)
      try await upstream.received("the last one") { $0.last?.target == "/3" }
      #expect(firstAttempts == ["/1", "/2", "/3"])
    }

    @Test("a frozen relay is left as soon as another one has the store")
    func frozen() async throws {
      try await startBoth()
      holder.signal(SIGSTOP)
      // It may wait for the frozen one until its time is over, and is posted again then.
      try await eventually("the spare takes it itself") {
        try await device(at: spare).post(["path": "/1", "key": "1"]).status == 202 ? true : nil
      }
      holder.signal(SIGCONT)
      #expect(try await holder.ending() == .exit(1))
      try await upstream.received(count: 1)
    }
  }
}
#endif

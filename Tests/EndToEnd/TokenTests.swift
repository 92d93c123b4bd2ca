import Foundation
import Glibc
import RelayServer
import Testing

extension EndToEnd {
  @Suite("Tokens", .serialized)
  struct Tokens {
    private func status(_ token: String, of relay: Relay, _ target: String) async throws -> Int {
      try await relay.device("d", token: token).get(target).status
    }

    @Test("a token names the client, is there after kill -9, and so is its revocation")
    func life() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.guarded(upstream)
      let (id, token) = try await relay.token(["client": "till-1", "label": "spare"])
      let other = try await relay.token(["client": "till-2"])
      try await relay.kill()
      try await relay.start()
      let device = relay.device("till-1", token: token)
      let posted = try await device.request(
        "POST", "/v1/envelopes", headers: ["Content-Type": "application/json"],
        body: Array(#"{"path": "/x"}"#.utf8))
      #expect(try posted.status == 202 && posted.json()["client"] as? String == "till-1")
      #expect(try await relay.steering.request("DELETE", "/v1/tokens/\(id)").status == 204)
      // On the same connection, at once.
      #expect(try await device.get("/v1/clients/till-1").status == 401)
      #expect(try await relay.steering.request("DELETE", "/v1/tokens/\(id)").status == 404)
      try await relay.kill()
      try await relay.start()
      #expect(try await status(token, of: relay, "/v1/clients/till-1") == 401)
      #expect(try await status(other.text, of: relay, "/v1/clients/till-2") == 404)
    }

    @Test("a token that has ended is worth nothing")
    func expiry() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let end = Date().addingTimeInterval(1.2)
      let format = ISO8601DateFormatter()
      format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
      let (_, token) = try await relay.token([
        "role": "read", "expiresAt": format.string(from: end),
      ])
      #expect(try await status(token, of: relay, "/status") == 200)
      // Bounded by the end itself: asked again until it has come.
      var seen = 200
      while seen == 200, Date() < end.addingTimeInterval(10) {
        seen = try await status(token, of: relay, "/status")
      }
      #expect(seen == 401 && Date() >= end)
    }

    @Test("a key makes tokens for its clients without the relay, and single ones can be revoked")
    func derived() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.guarded(upstream)
      let token = Credentials.derived("truck-7")
      let device = relay.device("truck-7", token: token)
      #expect(try await device.post(["path": "/x"]).status == 202)
      for wrong in [
        Credentials.derived("till-7"),  // Not one of the key's clients.
        Credentials.derived("truck-7", key: "other"),
        Credentials.derived("truck-7", secret: String(repeating: "1f", count: 32)),
        token.replacingOccurrences(of: "747275636b2d37", with: "747275636b2d38"),
        token.uppercased(), token.replacingOccurrences(of: "fleet", with: "Fleet"),
      ] {
        #expect(try await status(wrong, of: relay, "/v1/clients/truck-7") == 401, "\(wrong)")
      }
      let revoked = try await relay.steering.request(
        "DELETE", "/v1/tokens/fleet.747275636b2d37")
      #expect(revoked.status == 204)
      #expect(try await device.get("/v1/clients/truck-7").status == 401)
      try await relay.kill()
      try await relay.start()
      #expect(try await status(token, of: relay, "/v1/clients/truck-7") == 401)
      #expect(
        try await status(Credentials.derived("truck-8"), of: relay, "/v1/clients/truck-8") == 404)
      let list = try await relay.reading.get("/v1/tokens?client=truck-7").json()
      let tokens = try #require(list["tokens"] as? [[String: Any]])
      #expect(tokens.count == 1 && tokens[0]["revokedAt"] is String)
    }

    @Test("the token of a key is revoked for good, be its key taken out or not")
    func revokedForGood() async throws {
      let upstream = try TestUpstream()
      func configuration(_ keys: [String: any Sendable]) -> [String: any Sendable] {
        [
          "access": ["operators": Credentials.operators, "clientKeys": keys]
            as [String: any Sendable]
        ]
      }
      let fleet: [String: any Sendable] = ["fleet": ["secrets": Credentials.secret]]
      let relay = try await Relay.started(upstream, more: configuration(fleet))
      let token = Credentials.derived("truck-7")
      #expect(try await status(token, of: relay, "/v1/clients/truck-7") == 404)
      let path = "/v1/tokens/fleet.747275636b2d37"
      try await relay.steering.request("DELETE", path).require(204)
      for (keys, unrevoked) in [([:], 404), (fleet, 204)] {
        relay.signal(SIGTERM)
        try await relay.ending()
        try relay.configure(
          upstreams: ["default": Relay.quick(upstream)], more: configuration(keys))
        try await relay.start()
        try await relay.steering.request("DELETE", path).require(204)
        let listed = try await relay.reading.get("/v1/tokens").json()["tokens"] as? [[String: Any]]
        #expect(listed?.first?["revokedAt"] is String)
        #expect(try await status(token, of: relay, "/v1/clients/truck-7") == 401)
        // One that nobody revoked can be revoked only where its key is known.
        let other = try await relay.steering.request("DELETE", "/v1/tokens/fleet.76616e")
        #expect(other.status == unrevoked)
        if unrevoked == 404 {
          #expect(other.problem == "unknown-token" && other.text.contains("key"))
        }
      }
    }

    @Test("however many tokens are stored, one that a key makes can be revoked")
    func reserve() async throws {
      var access = try #require(Credentials.configuration["access"] as? [String: any Sendable])
      access["tokensMax"] = 2
      let relay = try await Relay.started(try TestUpstream(), more: ["access": access])
      _ = try await relay.token(["client": "a"])
      let last = try await relay.token(["client": "b"])
      func revoke(_ client: String) async throws -> WireResponse {
        let id = try #require(DerivedToken(key: "fleet", client: client)?.id)
        return try await relay.steering.request("DELETE", "/v1/tokens/\(id)")
      }
      for client in ["truck-1", "truck-2"] {
        try await revoke(client).require(204)
        let token = Credentials.derived(client)
        #expect(try await status(token, of: relay, "/v1/clients/\(client)") == 401)
      }
      let refused = try await revoke("truck-3")
      #expect(refused.status == 409 && refused.problem == "too-many-tokens")
      #expect(refused.text.contains("was not revoked") && refused.text.contains("its key"))
      // What is revoked already stays so, and is no matter of room.
      try await revoke("truck-1").require(204)
      try await relay.kill()
      try await relay.start()
      try await revoke("truck-2").require(204)
      #expect(try await revoke("truck-3").status == 409)
      try await relay.steering.request("DELETE", "/v1/tokens/\(last.id)").require(204)
      #expect(try await revoke("truck-3").status == 409)
    }

    @Test("while a key is being changed the old one and the new one both make tokens")
    func rotation() async throws {
      let upstream = try TestUpstream()
      let (old, new) = (Credentials.secret, String(repeating: "c3", count: 32))
      func configuration(_ secrets: [String]) -> [String: any Sendable] {
        ["access": ["clientKeys": ["fleet": ["secrets": secrets]]]]
      }
      let relay = try await Relay.started(upstream, more: configuration([new, old]))
      for secret in [old, new] {
        let token = Credentials.derived("truck-7", secret: secret)
        #expect(try await status(token, of: relay, "/v1/clients/truck-7") == 404)
      }
      relay.signal(SIGTERM)
      try await relay.ending()
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)], more: configuration([new]))
      try await relay.start()
      let (gone, good) = (
        Credentials.derived("truck-7", secret: old), Credentials.derived("truck-7", secret: new)
      )
      #expect(try await status(gone, of: relay, "/v1/clients/truck-7") == 401)
      #expect(try await status(good, of: relay, "/v1/clients/truck-7") == 404)
    }

    @Test("the relay's token never goes on to the upstream, and the upstream's own does")
    func keptApart() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.guarded(upstream)
      let token = try await relay.token(["client": "till-1"]).text
      let device = relay.device("till-1", token: token)
      let wait = ["Prefer": "wait=20"]
      #expect(try await device.relay("GET", "/plain", headers: wait).status == 200)
      let both = [
        "Prefer": "wait=20", "Waystation-Authorization": "Bearer \(token)",
        "Authorization": "Basic dXNlcjpwYXNz", "X-Copy": token, "X-Bearer": "bearer \(token)",
      ]
      #expect(try await device.relay("GET", "/both", headers: both).status == 200)
      let twice = both.merging(["Authorization": "Bearer \(token)"]) { _, new in new }
      #expect(try await device.relay("GET", "/twice", headers: twice).status == 200)
      let received = upstream.received
      #expect(received.map(\.target) == ["/plain", "/both", "/twice"])
      for request in received {
        let fields = request.message.fields
        #expect(!fields.contains { $0.value.contains(token) }, "\(fields)")
        #expect(!fields.contains { $0.name.lowercased() == "waystation-authorization" })
      }
      #expect(received[0]["Authorization"] == nil && received[2]["Authorization"] == nil)
      #expect(received[1]["Authorization"] == "Basic dXNlcjpwYXNz")
      let written = try await device.post(
        ["path": "/x", "headers": ["Authorization": "Bearer \(token)"]])
      #expect(written.status == 422 && !written.text.contains(token))
    }

    @Test("the relay's token does not go on behind another scheme, in a list, in quotes or packed")
    func kept() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.guarded(upstream)
      let token = try await relay.token(["client": "till-1"]).text
      let derived = Credentials.derived("truck-7")
      let device = relay.device("till-1", token: token)
      let packed = Data("user:\(token)".utf8).base64EncodedString()
      let values = [
        "Token \(token)", "Token\t\(token)", "Bearer\t\(token)", "\"\(token)\"",
        "a, \(token), \(derived)",
        "session=1; t=\(derived)", "Basic \(packed)", "Digest a=\"\(Credentials.steer)\"",
        token.uppercased(),
      ]
      var fields = ["Prefer": "wait=20", "X-Kept": "wst_ and wsk_ are how tokens begin"]
      for (number, value) in values.enumerated() { fields["X-Copy-\(number)"] = value }
      fields["Waystation-Authorization"] = "Bearer \(token)"
      for (number, value) in values.enumerated() {
        fields["Authorization"] = value
        #expect(
          try await device.relay("GET", "/\(number)", headers: fields).status == 200, "\(value)")
        let written = try await device.post(["path": "/x", "headers": ["Authorization": value]])
        #expect(written.status == 422 && written.problem == "invalid-field", "\(value)")
        #expect(!written.text.contains(token) && !written.text.contains(derived))
      }
      // Nor where nobody waits for the answer.
      fields["Prefer"] = nil
      #expect(try await device.relay("GET", "/later", headers: fields).status == 202)
      let keyed = try await device.post(["path": "/x", "key": "k-\(token)"])
      #expect(keyed.status == 422 && !keyed.text.contains(token))
      let received = try await upstream.received(count: values.count + 1)
      #expect(received.map(\.target) == values.indices.map { "/\($0)" } + ["/later"])
      for request in received {
        #expect(request["Authorization"] == nil && request["X-Kept"] != nil)
        #expect(!request.message.fields.contains { $0.name.lowercased().hasPrefix("x-copy") })
      }
    }

    @Test("at the limit of stored tokens the operator is told, and room is made by revoking")
    func limit() async throws {
      let access: [String: any Sendable] = ["operators": Credentials.operators, "tokensMax": 2]
      let relay = try await Relay.started(try TestUpstream(), more: ["access": access])
      let first = try await relay.token(["client": "a"])
      _ = try await relay.token(["client": "b"])
      let refused = try await relay.steering.request(
        "POST", "/v1/tokens", headers: ["Content-Type": "application/json"],
        body: Array(#"{"client": "c"}"#.utf8))
      #expect(refused.status == 409 && refused.problem == "too-many-tokens")
      try await relay.steering.request("DELETE", "/v1/tokens/\(first.id)").require(204)
      _ = try await relay.token(["client": "c"])
    }

    @Test("no secret is in the log, an event, a list, the status or the data folder")
    func secrets() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.guarded(upstream, more: ["log": ["level": "debug"]])
      let listener = try await Listener(relay, token: Credentials.read)
      let client = try await relay.token(["client": "till-1"]).text
      let reader = try await relay.token(["role": "read"]).text
      let derived = Credentials.derived("truck-7")
      for token in [client, derived] {
        let device = relay.device(token == client ? "till-1" : "truck-7", token: token)
        #expect(try await device.post(["path": "/json"]).status == 202)
        #expect(try await device.relay("POST", "/r", headers: ["Prefer": "wait=20"]).status == 200)
        _ = try await device.get("/status")
        _ = try await device.get("/v1/clients/nobody?token=\(token)")
      }
      try await listener.events("all ends") { $0.count { $0.name == "delivered" } == 4 }
      var shown = [relay.log, listener.events.map(\.data).joined()]
      for target in ["/status", "/v1/tokens", "/v1/envelopes?limit=200", "/readyz"] {
        shown.append(try await relay.device("r", token: reader).get(target).text)
      }
      relay.signal(SIGTERM)
      try await relay.ending()
      shown.append(relay.log)
      let tokens: [String] = [client, reader, derived, Credentials.steer]
      let secrets: [String] = tokens.map { String($0.suffix(64)) } + [Credentials.secret]
      for secret in secrets {
        #expect(!shown.contains { $0.contains(secret) })
        if StoreEngine.hasFiles { #expect(try !relay.folder.holds(secret, below: "data")) }
      }
    }
  }
}

extension WireResponse {
  /// Fails unless the status is this one.
  func require(_ status: Int) throws {
    try #require(self.status == status, "\(self)")
  }
}

extension TemporaryFolder {
  /// Whether a file below has a text in it, or, of hexadecimal digits, the bytes that they are.
  func holds(_ text: String, below folder: String) throws -> Bool {
    let digits = Array(text.utf8)
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: digits.count - 1, by: 2) {
      let pair = String(decoding: digits[start..<start + 2], as: UTF8.self)
      if let byte = UInt8(pair, radix: 16) { bytes.append(byte) }
    }
    let files = try FileManager.default.subpathsOfDirectory(atPath: path + "/" + folder)
    var count = 0
    for file in files {
      guard let data = FileManager.default.contents(atPath: "\(path)/\(folder)/\(file)") else {
        continue
      }
      count += 1
      if data.range(of: Data(digits)) != nil || data.range(of: Data(bytes)) != nil { return true }
    }
    try #require(count > 0)
    return false
  }
}

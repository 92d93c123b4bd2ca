import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Access tokens of upstreams", .serialized)
  struct AccessTokens {
    @Test("one is fetched for all, and another before and after each end; nothing is refused")
    func short() async throws {
      let stand = try TokenStand(lifetimeSeconds: 2)
      try await stand.relay.start()
      let devices = (0..<20).map { stand.relay.device("d\($0)") }
      try await withThrowingTaskGroup(of: Int.self) { group in
        for device in devices {
          group.addTask {
            try await device.relay("GET", "/", headers: ["Prefer": "wait=20"]).status
          }
        }
        for try await status in group { #expect(status == 200) }
      }
      #expect(stand.server.received.count == 1, "shared by all that came together")
      // Each ends by the service's clock, whatever the relay believes.
      while stand.server.received.count < 4 {
        let answer = try await devices[0].relay("GET", "/", headers: ["Prefer": "wait=20"])
        #expect(answer.status == 200, "\(answer)")
      }
      let request = try #require(stand.server.received.first)
      #expect(request.message.startLine == "POST /oauth/token HTTP/1.1")
      let pair = "relay%20one:\(TokenStand.secret.replacing("/", with: "%2F"))"
      #expect(request["Authorization"] == "Basic \(Data(pair.utf8).base64EncodedString())")
      #expect(request["Content-Type"] == "application/x-www-form-urlencoded")
      let form = "grant_type=client_credentials&scope=read%20write&audience=https%3A%2F%2Fapi"
      #expect(request.message.text == form)
      #expect(request["Waystation-Client"] == nil && request["Idempotency-Key"] == nil)
      let status = try await devices[0].get("/status").json()
      #expect((status["needs"] as? [Any])?.isEmpty == true)
    }

    @Test("after a 401 an attempt goes on with a new token; an upstream's own 401 stands")
    func rejected() async throws {
      let stand = try TokenStand(lifetimeSeconds: 3600)
      try await stand.relay.start()
      let device = stand.relay.device()
      #expect(try await device.relay("GET", "/1", headers: ["Prefer": "wait=20"]).status == 200)
      stand.revokeAll()
      let body = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let answer = try await device.relay(
        "POST", "/2", headers: ["Prefer": "wait=20", "Authorization": "Bearer forged"], body: body)
      #expect(answer["Waystation-Upstream-Status"] == "200", "\(answer)")
      let id = try #require(answer["Waystation-Id"])
      let view = try await device.get("/v1/envelopes/\(id)").json()
      #expect((view["attempts"] as? [Any])?.count == 1, "both were one attempt: \(view)")
      #expect(stand.service.received.map(\.target) == ["/1", "/2", "/2"])
      #expect(stand.service.received[2].message.body == body)
      let keys = stand.service.received.suffix(2).compactMap { $0["Idempotency-Key"] }
      #expect(Set(keys).count == 1 && keys.count == 2)
      #expect(stand.server.received.count == 2)
      stand.service.behave { _ in .answer(401) }
      for path in ["/3", "/4"] {
        let refused = try await device.relay("GET", path, headers: ["Prefer": "wait=20"])
        #expect(refused["Waystation-Upstream-Status"] == "401", "\(refused)")
      }
      #expect(stand.service.received.map(\.target).suffix(3) == ["/3", "/3", "/4"])
      #expect(stand.server.received.count == 3, "no token for each refusal")
    }

    @Test("one client's 401s end its envelopes and cost no token each, while others are served")
    func ownRefusals() async throws {
      let stand = try TokenStand(lifetimeSeconds: 3600)
      stand.serve(refusing: "/bad")
      try await stand.relay.start()
      let good = stand.relay.device("good")
      #expect(try await good.relay("GET", "/0", headers: ["Prefer": "wait=20"]).status == 200)
      let bad = stand.relay.device("bad")
      for number in 0..<6 { _ = try await bad.post(["path": "/bad/\(number)", "method": "GET"]) }
      try await eventually("all of the bad client's have failed") {
        #expect(try await good.relay("GET", "/1", headers: ["Prefer": "wait=20"]).status == 200)
        let list = try await bad.get("/v1/envelopes?client=bad&state=failed").json()
        return (list["envelopes"] as? [Any])?.count == 6 ? true : nil
      }
      #expect(stand.server.received.count == 2, "a first one, and one to see whether that helps")
      let list = try await bad.get("/v1/envelopes?client=bad").json()
      let reasons = (list["envelopes"] as? [[String: Any]])?.compactMap { $0["reason"] as? String }
      #expect(reasons == Array(repeating: "the upstream answered 401", count: 6), "\(list)")
    }

    @Test("envelopes that go together share a token, and one that ends costs none of them anything")
    func together() async throws {
      let batch: [String: any Sendable] = ["format": "ndjson", "path": "/in", "itemsMax": 25]
      let stand = try TokenStand(lifetimeSeconds: 3600, batch: batch)
      try await stand.relay.start()
      let device = stand.relay.device("operator")
      for round in 0..<3 {
        _ = try await device.request("POST", "/v1/upstreams/default/pause")
        stand.revokeAll()
        let envelopes = (0..<100).map { number -> [String: any Sendable] in
          ["client": "d-\(number % 10)", "path": "/", "body": round * 100 + number]
        }
        #expect(try await device.post(batch: envelopes).status == 202)
        _ = try await device.request("POST", "/v1/upstreams/default/resume")
        try await eventually("all of round \(round) are delivered") {
          let store = try await device.get("/status").json()["store"] as? [String: Any]
          let counts = store?["envelopes"] as? [String: Int]
          return counts?["delivered"] == (round + 1) * 100 ? true : nil
        }
      }
      #expect(stand.server.received.count == 3, "shared by all that were refused at once")
      #expect(stand.service.received.count <= 3 * 4 * 2, "no request went three times")
      // What was refused for its token went again as it was, with the same key.
      let bodies = Dictionary(grouping: stand.service.received, by: \.message.text)
      for (_, requests) in bodies {
        #expect(requests.count <= 2 && Set(requests.map { $0["Idempotency-Key"] }).count == 1)
      }
      let sent = bodies.keys.flatMap { $0.split(separator: "\n").compactMap { Int($0) } }
      #expect(sent.sorted() == Array(0..<300))
      let list = try await device.get("/v1/envelopes?client=d-3").json()
      let envelopes = try #require(list["envelopes"] as? [[String: Any]])
      #expect(envelopes.count == 30 && envelopes.allSatisfy { $0["attemptCount"] as? Int == 1 })
    }

    @Test("a server that is down, slow, in trouble, or makes no sense is an outage with its reason")
    func outages() async throws {
      let stand = try TokenStand(lifetimeSeconds: 3600, attemptTimeoutMs: 1500)
      try await stand.relay.start()
      let device = stand.relay.device()
      let huge = Array(#"{"access_token": "\#(String(repeating: "x", count: 3_000_000))"}"#.utf8)
      let token = #""access_token": "abcdefgh""#
      let troubles: [(Behaviour, String)] = [
        (.answer(503), "answered 503"), (.answer(404), "answered 404"), (.never, "took too long"),
        (.cut, "ended the connection"), (.answer(302), "answered 302"),
        (.answer(200, body: Array("<html>".utf8)), "answered 200 without a token"),
        (.answer(200, body: Array(#"{"access_token": "a b"}"#.utf8)), "without a token"),
        (.answer(200, body: Array(#"{\#(token), \#(token)}"#.utf8)), "without a token"),
        (
          .answer(
            200, fields: [WireField(name: "Content-Encoding", value: "gzip")],
            body: [0x1F, 0x8B, 8]),
          "answered 200 without a token (its Content-Encoding is gzip)"
        ),
        (.answer(200, body: huge), "answered more than 65536 bytes"),
      ]
      stand.server.behave { _ in troubles[0].0 }
      let posted = try await device.post(["path": "/", "method": "GET"])
      let id = try #require(posted.json()["id"] as? String)
      for (trouble, words) in troubles {
        stand.server.behave { _ in trouble }
        let upstream = try await stand.upstream("an outage: \(words)") {
          ($0["lastError"] as? String)?.contains(words) == true && $0["reachable"] as? Bool == false
        }
        #expect((upstream["lastError"] as? String)?.hasPrefix("no access token: ") == true)
      }
      stand.server.stop()
      _ = try await stand.upstream("nobody there") {
        ($0["lastError"] as? String)?.contains("connection refused") == true
      }
      let view = try await device.get("/v1/envelopes/\(id)").json()
      #expect(UpstreamCertificates.isWaiting(view), "\(view)")
      #expect(stand.service.received.isEmpty)
      try stand.server.start()
      stand.behave()
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
    }

    @Test("refused credentials need somebody, and hold the lanes until they are mended")
    func refused() async throws {
      let stand = try TokenStand(lifetimeSeconds: 3600, secret: "wrong")
      try await stand.relay.start()
      let device = stand.relay.device()
      let ids = try await (0..<3).asyncMap { number in
        let posted = try await device.post(["path": "/\(number)", "method": "GET"])
        return try #require(posted.json()["id"] as? String)
      }
      let need = try await eventually("a need") {
        let needs = try await device.get("/status").json()["needs"] as? [[String: Any]]
        return needs?.first {
          $0["kind"] as? String == "credentials-refused" && $0["count"] as? Int == 3
        }
      }
      let title =
        "the relay's credentials for default are refused, and 3 envelopes wait until the"
        + " credentials are mended, and read again by a reload (SIGHUP)"
      #expect(need["title"] as? String == title)
      #expect(need["severity"] as? String == "critical")
      let cause =
        "no access token: 127.0.0.1:\(stand.server.port) answered 401: invalid_client, no such"
        + " secret"
      #expect(need["cause"] as? String == cause)
      try await eventually("the warning") {
        let warnings = try await device.get("/readyz").json()["warnings"] as? [String]
        return warnings == ["\(title): \(cause)"] ? true : nil
      }
      for id in ids {
        let view = try await device.get("/v1/envelopes/\(id)").json()
        #expect(UpstreamCertificates.isWaiting(view), "\(view)")
      }
      #expect(stand.service.received.isEmpty)
      try stand.configure(secret: TokenStand.secret)
      stand.relay.signal(SIGHUP)
      for id in ids { #expect(try await device.end(of: id)["state"] as? String == "delivered") }
      try await eventually("no need") {
        let needs = try await device.get("/status").json()["needs"] as? [Any]
        return needs?.isEmpty == true ? true : nil
      }
      #expect(!stand.relay.log.contains(TokenStand.secret))
    }

    @Test("nothing of a token outlives kill -9, and what waited for one is delivered afterwards")
    func killed() async throws {
      let stand = try TokenStand(lifetimeSeconds: 3600)
      stand.server.behave { _ in .never }
      try await stand.relay.start()
      let posted = try await stand.relay.device().post(["path": "/", "method": "GET"])
      let id = try #require(posted.json()["id"] as? String)
      try await stand.server.received(count: 1)
      try await stand.relay.kill()
      stand.behave()
      try await stand.relay.start()
      let device = stand.relay.device()
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      #expect(stand.service.received.count == 1)
      let token = try #require(stand.service.received[0]["Authorization"]?.dropFirst(7))
      for path in ["/status", "/v1/envelopes/\(id)", "/v1/envelopes/\(id)/response"] {
        let answer = try await device.get(path)
        #expect(!answer.text.contains(token), "the service has echoed it")
      }
      #expect(!stand.relay.log.contains(token))
    }

    @Test(
      "a server's words that repeat the relay's secret are shown without it",
      arguments: ["plain-secret-of-the-relay", "s3crét/\"of\" the & relay"])
    func repeated(secret: String) async throws {
      let stand = try TokenStand(lifetimeSeconds: 3600, secret: secret)
      stand.server.behave { request in
        let sent = request["Authorization"] ?? ""
        let words: [String: any Sendable] = [
          // The second one is cut in the middle of the secret.
          "error": sent, "error_description": String(repeating: "x", count: 70) + " " + secret,
        ]
        return .answer(400, body: (try? Device.json(words)) ?? [])
      }
      try await stand.relay.start()
      let device = stand.relay.device()
      let id = try #require(
        try await device.post(["path": "/", "method": "GET"]).json()["id"] as? String)
      _ = try await stand.upstream("refused credentials") { $0["lastError"] != nil }
      let sent = try #require(stand.server.received.first?["Authorization"]).dropFirst(6)
      var shown = stand.relay.log
      for path in ["/status", "/v1/upstreams", "/v1/envelopes/\(id)"] {
        shown += try await device.get(path).text
      }
      shown += try await device.request("POST", "/v1/upstreams/default/try").text
      #expect(shown.contains("no access token"))
      #expect(!shown.contains(sent.prefix(12)) && !shown.contains(secret.prefix(6)), "\(shown)")
    }

    @Test(
      "a key in place of a secret signs assertions that the server can check",
      arguments: [
        ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], ["-algorithm", "ED25519"],
      ])
    func assertion(options: [String]) async throws {
      let folder = try TemporaryFolder()
      let key = folder.path + "/key.pem"
      let made = try ChildProcess("openssl", ["genpkey", "-out", key] + options)
      try #require(try await made.ending() == .exit(0))
      let stand = try TokenStand(lifetimeSeconds: 3600, key: key)
      try await stand.relay.start()
      let device = stand.relay.device()
      #expect(try await device.relay("GET", "/", headers: ["Prefer": "wait=20"]).status == 200)
      let request = try #require(stand.server.received.first)
      #expect(request["Authorization"] == nil)
      let form = Dictionary(
        request.message.text.split(separator: "&").map { part in
          let pair = part.split(separator: "=", maxSplits: 1).map { String($0) }
          return (pair[0], pair[1].removingPercentEncoding ?? "")
        }, uniquingKeysWith: { first, _ in first })
      #expect(
        form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
      let parts = try #require(form["client_assertion"]).split(separator: ".").map { String($0) }
      let header = try Assertion.object(parts[0])
      #expect(header["typ"] as? String == "JWT" && header["kid"] as? String == "key-1")
      let claims = try Assertion.object(parts[1])
      #expect(claims["iss"] as? String == "relay one" && claims["sub"] as? String == "relay one")
      #expect(claims["aud"] as? String == "\(stand.server.url)/oauth/token")
      let now = Date().timeIntervalSince1970
      let issued = try #require(claims["iat"] as? Double)
      #expect(abs(issued - now) < 60 && claims["exp"] as? Double == issued + 120)
      #expect((claims["jti"] as? String)?.count == 22)
      let algorithm = try #require(header["alg"] as? String)
      #expect(
        try await Assertion.isGood(
          parts, algorithm: algorithm, key: key, in: folder), "\(algorithm)")
      // Another key in that file is taken up by a SIGHUP.
      let again = try ChildProcess("openssl", ["genpkey", "-out", key] + options)
      try #require(try await again.ending() == .exit(0))
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: "configuration reloaded")
      #expect(try await device.relay("GET", "/", headers: ["Prefer": "wait=20"]).status == 200)
      #expect(stand.server.received.count == 2)
    }
  }
}

/// A signed assertion (RFC 7523), read as a server would, by openssl.
private enum Assertion {
  static func object(_ part: String) throws -> [String: Any] {
    let data = try #require(Data(base64URL: part))
    return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  static func isGood(
    _ parts: [String], algorithm: String, key: String, in folder: TemporaryFolder
  ) async throws -> Bool {
    let raw = [UInt8](try #require(Data(base64URL: parts[2])))
    let signature = algorithm.hasPrefix("ES") ? der(raw) : raw
    let file = folder.path + "/signature"
    try Data(signature).write(to: URL(fileURLWithPath: file))
    let message = try folder.write("message", parts[0] + "." + parts[1])
    var words = ["pkeyutl", "-verify", "-rawin", "-in", message, "-sigfile", file, "-inkey", key]
    if algorithm != "EdDSA" { words += ["-digest", algorithm == "ES384" ? "sha384" : "sha256"] }
    return try await ChildProcess("openssl", words).ending() == .exit(0)
  }

  /// Two numbers of equal length as DER.
  private static func der(_ raw: [UInt8]) -> [UInt8] {
    let numbers = [raw.prefix(raw.count / 2), raw.suffix(raw.count / 2)].flatMap {
      half -> [UInt8] in
      var number = Array(half.drop { $0 == 0 })
      if number.first.map({ $0 >= 0x80 }) ?? true { number.insert(0, at: 0) }
      return [2, UInt8(number.count)] + number
    }
    return [0x30, UInt8(numbers.count)] + numbers
  }
}

extension Range<Int> {
  /// The results in order, one after the other.
  fileprivate func asyncMap<Result>(
    _ transform: (Int) async throws -> Result
  ) async rethrows -> [Result] {
    var results: [Result] = []
    for number in self { results.append(try await transform(number)) }
    return results
  }
}

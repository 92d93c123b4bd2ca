import Foundation
import Testing

extension EndToEnd {
  @Suite("Relaying a request as it is", .serialized)
  struct RelayRoute {
    private let upstream: TestUpstream
    private let relay: Relay
    private let device: Device

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
      device = relay.device()
    }

    @Test("method, path, query, fields and body arrive byte for byte")
    func byteForByte() async throws {
      let body = (0...255).map { UInt8($0) } + Array("\r\n\0\r\n".utf8)
      let answer = try await device.relay(
        "PATCH", "/a%2Fb/c//d;e?q=%20+&q=%C3%A9&empty=",
        headers: [
          "X-Strange": "a,  b\t; \"q\"", "Content-Type": "image/x", "Connection": "X-Hop",
          "X-Hop": "gone", "TE": "trailers", "Waystation-Tag": "t", "Idempotency-Key": "\"k-1\"",
        ], body: body)
      #expect(answer.status == 202, "\(answer)")
      #expect(try answer.json()["key"] as? String == "\"k-1\"")
      let request = try await upstream.received(count: 1)[0]
      #expect(request.method == "PATCH")
      #expect(request.target == "/a%2Fb/c//d;e?q=%20+&q=%C3%A9&empty=")
      #expect(request.body == body)
      #expect(request["X-Strange"] == "a,  b\t; \"q\"")
      #expect(request["Content-Type"] == "image/x")
      #expect(request.message.values(of: "Idempotency-Key") == ["\"k-1\""])
      #expect(request["X-Hop"] == nil)
      #expect(request["TE"] == nil)
      #expect(request["Waystation-Tag"] == nil)
      #expect(request["Host"] == "127.0.0.1:\(upstream.port)")
      #expect(request["Waystation-Client"] == "device-1")
    }

    @Test(
      "any method goes on",
      arguments: ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "get"])
    func methods(method: String) async throws {
      #expect(try await device.relay(method, "/m").status == 202)
      #expect(try await upstream.received(count: 1)[0].method == method)
    }

    @Test("a body in chunks arrives whole")
    func chunked() async throws {
      let head =
        "POST /v1/relay/default/c HTTP/1.1\r\nHost: r\r\nWaystation-Client: device-1\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n"
      let answer = try await device.raw(Array((head + "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n").utf8))
      #expect(answer.status == 202, "\(answer)")
      #expect(try await upstream.received(count: 1)[0].message.text == "abcde")
    }

    @Test("with Prefer: wait the upstream's own answer passes through")
    func wait() async throws {
      upstream.behave { request in
        .answer(
          request.target == "/missing" ? 404 : 201,
          fields: [
            WireField(name: "X-Mine", value: "kept"), WireField(name: "Location", value: "/new/1"),
            WireField(name: "Content-Type", value: "text/x"),
            WireField(name: "Set-Cookie", value: "a=b"),
            WireField(name: "Waystation-State", value: "forged"),
          ], body: [0, 1, 255])
      }
      let answer = try await device.relay("POST", "/new", headers: ["Prefer": "wait=20"], body: [1])
      #expect(answer.status == 201)
      #expect(answer.body == [0, 1, 255])
      #expect(answer["X-Mine"] == "kept")
      #expect(answer["Content-Type"] == "text/x")
      #expect(answer["Set-Cookie"] == nil)
      #expect(answer.message.values(of: "Location") == ["/v1/relay/default/new/1"])
      #expect(answer["Preference-Applied"] == "wait")
      #expect(answer["Waystation-Upstream-Status"] == "201")
      #expect(answer.message.values(of: "Waystation-State") == ["delivered"])
      let id = try #require(answer["Waystation-Id"])
      #expect(try await device.end(of: id)["state"] as? String == "delivered")
      #expect(try await upstream.received(count: 1)[0]["Prefer"] == nil)

      let missing = try await device.relay("GET", "/missing", headers: ["Prefer": "wait=20"])
      #expect(missing.status == 404)
      #expect(missing["Waystation-State"] == "failed")
      #expect(missing["Waystation-Upstream-Status"] == "404")
      #expect(missing.problem == nil)
    }

    @Test("an answer that means try again is tried again while there is time")
    func waitsThroughRetries() async throws {
      let upstream = upstream
      upstream.behave { _ in
        upstream.received.count < 3 ? .answer(503) : .answer(200, body: [7])
      }
      let answer = try await device.relay("GET", "/", headers: ["Prefer": "wait=20"])
      #expect(answer.status == 200)
      #expect(answer.body == [7])
      let received = upstream.received
      #expect(received.map { $0["Waystation-Attempt"] } == ["1", "2", "3"])
      #expect(Set(received.map { $0["Idempotency-Key"] }).count == 1)
    }

    @Test("when the time is up the answer is 202, and the relay goes on")
    func waitRunsOut() async throws {
      upstream.behave { _ in .never }
      let answer = try await device.relay("GET", "/", headers: ["Prefer": "wait=1"])
      #expect(answer.status == 202)
      #expect(answer["Waystation-Upstream-Status"] == nil)
      #expect(try answer.json()["state"] as? String == "delivering")
    }

    @Test("where no answer will come, the 202 says why")
    func endsWithoutAnswer() async throws {
      let answer = try await device.relay(
        "POST", "/late",
        headers: ["Prefer": "wait=20", "Waystation-Expires-At": "2026-01-01T00:00:00Z"])
      #expect(answer.status == 202)
      #expect(try answer.json()["state"] as? String == "expired")
      let id = try #require(try answer.json()["id"] as? String)
      let reason = try await device.get("/v1/envelopes/\(id)").json()["reason"] as? String
      #expect(try reason != nil && answer.json()["reason"] as? String == reason)
    }

    @Test("a repeat may come another way")
    func repeatedByAnotherWay() async throws {
      var ids: Set<String> = []
      for proxy in ["1.1 north", "1.1 south"] {
        let fields = ["Idempotency-Key": "once", "Via": proxy]
        let answer = try await device.relay("POST", "/x", headers: fields)
        try ids.insert(#require(answer.json()["id"] as? String))
      }
      #expect(ids.count == 1)
    }

    @Test("a repeated key with Prefer: wait gets the answer that was kept")
    func repeatedKey() async throws {
      upstream.behave { _ in .answer(200, body: [1, 2, 3]) }
      let headers = ["Prefer": "wait=20", "Idempotency-Key": "once"]
      let first = try await device.relay("POST", "/", headers: headers, body: [9])
      let second = try await device.relay("POST", "/", headers: headers, body: [9])
      #expect(first.body == [1, 2, 3])
      #expect(second.body == [1, 2, 3])
      #expect(first["Waystation-Id"] == second["Waystation-Id"])
      #expect(upstream.received.count == 1)
      let conflict = try await device.relay("POST", "/", headers: headers, body: [8])
      #expect(conflict.status == 422)
      #expect(conflict.problem == "key-conflict")
    }

    @Test("what cannot be relayed is answered with its problem")
    func refused() async throws {
      let noClient = try await device.request("GET", "/v1/relay/default/")
      #expect(noClient.status == 422)
      #expect(noClient.problem == "missing-field")
      #expect(try noClient.json()["field"] as? String == "Waystation-Client")
      let unknown = try await device.relay("GET", "/", upstream: "nobody")
      #expect(unknown.status == 404)
      #expect(unknown.problem == "unknown-upstream")
      let field = try await device.relay("GET", "/", headers: ["Waystation-Colour": "red"])
      #expect(field.status == 422)
      #expect(field.problem == "unknown-field")
      let hold = try await device.relay("GET", "/", headers: ["Waystation-Hold": "maybe"])
      #expect(hold.status == 422)
      #expect(hold.problem == "invalid-field")
      #expect(try hold.json()["field"] as? String == "Waystation-Hold")
      #expect(upstream.received.isEmpty)
    }

    @Test("a large body is stored in a file and arrives byte for byte")
    func largeBody() async throws {
      var generator = SeededGenerator(seed: 7)
      let piece = generator.bytes(64 * 1024)
      let body = Array((0..<128).map { _ in piece }.joined())
      let answer = try await device.relay("PUT", "/large", body: body)
      #expect(answer.status == 202, "\(answer)")
      let request = try await upstream.received(count: 1)[0]
      #expect(request.body == body)
    }
  }
}

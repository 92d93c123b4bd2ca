import Foundation
import Testing

extension EndToEnd {
  @Suite("Accepting envelopes", .serialized)
  struct Accepting {
    private let upstream: TestUpstream
    private let relay: Relay
    private let device: Device

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
      device = relay.device()
    }

    @Test("one envelope is stored, located, and forwarded")
    func one() async throws {
      let answer = try await device.post([
        "key": "reading-1", "path": "/readings?site=a%20b&x=1", "lane": "telemetry", "tag": "t",
        "headers": ["X-One": "1", "X-Two": ["2a", "2b"]] as [String: any Sendable], "body": "text",
      ])
      #expect(answer.status == 202)
      let accepted = try answer.json()
      let id = try #require(accepted["id"] as? String)
      #expect(answer["Location"] == "/v1/envelopes/\(id)")
      #expect(accepted["result"] as? String == "accepted")
      #expect(accepted["client"] as? String == "device-1")
      #expect(accepted["lane"] as? String == "telemetry")
      #expect(accepted["key"] as? String == "reading-1")
      #expect(accepted["state"] as? String == "queued")
      #expect(accepted["position"] as? Int == 1)

      let request = try await upstream.received(count: 1)[0]
      #expect(request.method == "POST")
      #expect(request.target == "/readings?site=a%20b&x=1")
      #expect(request.message.text == "text")
      #expect(request["Content-Type"] == "text/plain; charset=utf-8")
      #expect(request["X-One"] == "1")
      #expect(request.message.values(of: "X-Two") == ["2a", "2b"])
      #expect(request["Idempotency-Key"] == id)
      #expect(request["Waystation-Attempt"] == "1")
      #expect(request["Waystation-Client"] == "device-1")
      #expect(request["Waystation-Accepted-At"]?.hasSuffix("Z") == true)
      let digits = request["Via"]?.dropFirst("1.1 waystation-".count)
      #expect(digits?.count == 8 && digits?.allSatisfy(\.isHexDigit) == true)
      #expect(request["Waystation-Lane"] == nil)
    }

    @Test("a JSON body goes on byte for byte")
    func jsonBody() async throws {
      let body = #"{"a" : 4.20, "big":12345678901234567890, "u":"\u00e9"}"#
      let envelope = #"{"client":"device-1","path":"/","body":\#(body)}"#
      #expect(try await device.post(json: Array(envelope.utf8)).status == 202)
      let request = try await upstream.received(count: 1)[0]
      #expect(request.message.text == body)
      #expect(request["Content-Type"] == "application/json")
    }

    @Test("a body in base64 goes on as its bytes, with no type added")
    func base64() async throws {
      let bytes = (0...255).map { UInt8($0) }
      let answer = try await device.post([
        "path": "/", "method": "PUT", "bodyBase64": Data(bytes).base64EncodedString(),
      ])
      #expect(answer.status == 202)
      let request = try await upstream.received(count: 1)[0]
      #expect(request.method == "PUT")
      #expect(request.body == bytes)
      #expect(request["Content-Type"] == nil)
    }

    @Test("an array is taken in its order, a bad item is rejected by itself")
    func array() async throws {
      let answer = try await device.post(batch: [
        ["path": "/0"], ["pth": "/1"], ["path": "/2"], ["lane": "default"],
      ])
      #expect(answer.status == 202)
      let results = try #require(answer.json()["results"] as? [[String: Any]])
      #expect(results.map { $0["index"] as? Int } == [0, 1, 2, 3])
      #expect(
        results.map { $0["result"] as? String } == ["accepted", "rejected", "accepted", "rejected"])
      let problem = try #require(results[1]["problem"] as? [String: Any])
      #expect(problem["type"] as? String == "urn:waystation:problem:unknown-field")
      #expect(problem["field"] as? String == "/pth")
      let missing = try #require(results[3]["problem"] as? [String: Any])
      #expect(missing["type"] as? String == "urn:waystation:problem:missing-field")
      #expect(missing["field"] as? String == "/path")
      let received = try await upstream.received(count: 2)
      #expect(received.map(\.target) == ["/0", "/2"])
    }

    @Test("lines are taken one by one, and a line that is no JSON is rejected by itself")
    func lines() async throws {
      let lines = """
        {"client":"device-1","path":"/0"}

        {"client":"device-1","path":
        {"client":"device-1","path":"/2"}\r

        """
      let answer = try await device.request(
        "POST", "/v1/envelopes", headers: ["Content-Type": "application/x-ndjson"],
        body: Array(lines.utf8))
      #expect(answer.status == 202)
      let results = try #require(answer.json()["results"] as? [[String: Any]])
      #expect(results.map { $0["result"] as? String } == ["accepted", "rejected", "accepted"])
      let problem = try #require(results[1]["problem"] as? [String: Any])
      #expect(problem["type"] as? String == "urn:waystation:problem:malformed-json")
      #expect(try await upstream.received(count: 2).map(\.target) == ["/0", "/2"])
    }

    @Test("a post in gzip is taken, and bad gzip is refused")
    func gzipped() async throws {
      let envelope = Array(#"{"client":"device-1","path":"/packed"}"#.utf8)
      let packed = gzip(envelope)
      let answer = try await device.post(json: packed, headers: ["Content-Encoding": "gzip"])
      #expect(answer.status == 202, "\(answer)")
      #expect(try await upstream.received(count: 1)[0].target == "/packed")

      let cut = try await device.post(
        json: Array(packed.dropLast(6)), headers: ["Content-Encoding": "gzip"])
      #expect(cut.status == 400)
      #expect(cut.problem == "bad-content-encoding")
      let other = try await device.post(json: envelope, headers: ["Content-Encoding": "br"])
      #expect(other.status == 415)
      #expect(other.problem == "unsupported-content-encoding")
    }

    @Test("a strict batch is all or nothing")
    func strict() async throws {
      let headers = ["Prefer": "handling=strict"]
      let refused = try await device.post(batch: [["path": "/0"], ["pth": "/1"]], headers: headers)
      #expect(refused.status == 422)
      #expect(refused.problem == "batch-rejected")
      let results = try #require(refused.json()["results"] as? [[String: Any]])
      #expect(results.map { $0["result"] as? String } == ["rejected", "rejected"])
      #expect(try await device.get("/v1/clients/device-1").problem == "unknown-client")

      let taken = try await device.post(batch: [["path": "/0"], ["path": "/1"]], headers: headers)
      #expect(taken.status == 202)
      #expect(taken["Preference-Applied"] == "handling=strict")
      #expect(try await upstream.received(count: 2).map(\.target) == ["/0", "/1"])
    }

    @Test("a repeated key is a duplicate, and one with other content is refused")
    func keys() async throws {
      let envelope: [String: any Sendable] = ["key": "k-1", "path": "/a"]
      let first = try await device.post(envelope)
      let id = try #require(first.json()["id"] as? String)
      _ = try await device.end(of: id)
      let second = try await device.post(envelope)
      #expect(second.status == 202)
      #expect(try second.json()["result"] as? String == "duplicate")
      #expect(try second.json()["id"] as? String == id)
      #expect(try second.json()["state"] as? String == "delivered")
      #expect(second["Location"] == "/v1/envelopes/\(id)")

      let conflict = try await device.post(["key": "k-1", "path": "/b"])
      #expect(conflict.status == 422)
      #expect(conflict.problem == "key-conflict")
      #expect(try conflict.json()["id"] as? String == id)

      let other = try await relay.device("device-2").post(envelope)
      #expect(try other.json()["result"] as? String == "accepted")
      #expect(try await upstream.received(count: 2).count == 2)
    }

    @Test("a key that comes twice in a batch is a duplicate of the first")
    func keyTwiceInBatch() async throws {
      let answer = try await device.post(batch: [
        ["key": "k", "path": "/a"], ["key": "k", "path": "/a"], ["key": "k", "path": "/b"],
      ])
      let results = try #require(answer.json()["results"] as? [[String: Any]])
      #expect(results.map { $0["result"] as? String } == ["accepted", "duplicate", "rejected"])
      #expect(results[0]["id"] as? String == results[1]["id"] as? String)
      let problem = try #require(results[2]["problem"] as? [String: Any])
      #expect(problem["type"] as? String == "urn:waystation:problem:key-conflict")
    }

    @Test(
      "what cannot be taken is answered with its problem",
      arguments: [
        (#"{"client":"c","path":"/","#, 400, "malformed-json", nil),
        (#"{"client":"c","client":"d","path":"/"}"#, 400, "malformed-json", "/client"),
        (#""text""#, 422, "invalid-field", ""),
        ("[]", 422, "invalid-field", ""),
        (#"{"client":"c"}"#, 422, "missing-field", "/path"),
        (#"{"path":"/"}"#, 422, "missing-field", "/client"),
        (#"{"client":"c","path":"/","colour":1}"#, 422, "unknown-field", "/colour"),
        (#"{"client":"c","path":"no-slash"}"#, 422, "invalid-field", "/path"),
        (#"{"client":"c","path":"/a b"}"#, 422, "invalid-field", "/path"),
        (#"{"client":"c","path":"/a/%2e%2e/b"}"#, 422, "invalid-field", "/path"),
        (#"{"client":"a b","path":"/"}"#, 422, "invalid-field", "/client"),
        (#"{"client":"c","path":"/","method":"GE T"}"#, 422, "invalid-field", "/method"),
        (#"{"client":"c","path":"/","sequence":0}"#, 422, "invalid-field", "/sequence"),
        (#"{"client":"c","path":"/","hold":"yes"}"#, 422, "invalid-field", "/hold"),
        (#"{"client":"c","path":"/","notBefore":"soon"}"#, 422, "invalid-field", "/notBefore"),
        (#"{"client":"c","path":"/","onFailure":"x"}"#, 422, "invalid-field", "/onFailure"),
        (#"{"client":"c","path":"/","bodyBase64":"*"}"#, 422, "invalid-field", "/bodyBase64"),
        (
          #"{"client":"c","path":"/","headers":{"Host":"x"}}"#, 422, "invalid-field",
          "/headers/Host"
        ),
        (#"{"client":"c","path":"/","upstream":"x"}"#, 422, "unknown-upstream", "/upstream"),
      ] as [(String, Int, String, String?)])
    func refused(json: String, status: Int, problem: String, field: String?) async throws {
      let answer = try await device.post(json: Array(json.utf8))
      #expect(answer.status == status, "\(answer)")
      #expect(answer.problem == problem, "\(answer)")
      #expect(try answer.json()["field"] as? String == field, "\(answer)")
      #expect(try (answer.json()["status"] as? Int) == status)
      // The connection goes on, and so does the relay.
      #expect(try await device.get("/healthz").status == 200)
    }

    @Test("a post of another media type is refused")
    func mediaType() async throws {
      let answer = try await device.request(
        "POST", "/v1/envelopes", headers: ["Content-Type": "text/plain"], body: Array("{}".utf8))
      #expect(answer.status == 415)
      #expect(answer.problem == "unsupported-media-type")
    }
  }
}

import Foundation
import Testing

extension EndToEnd {
  @Suite("Posting and checking in, in one round trip", .serialized)
  struct Syncing {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
    }

    private var device: Device { relay.device() }

    private func send(
      _ lines: [String], _ more: [String: String] = [:]
    ) async throws -> WireResponse {
      try await device.request(
        "POST", "/v1/sync",
        headers: more.merging(["Content-Type": "application/x-ndjson"]) { given, _ in given },
        body: Array(lines.joined(separator: "\n").utf8))
    }

    private func sync(_ lines: String...) async throws -> [String: Any] {
      let answer = try await send(lines)
      #expect(answer.status == 200, "\(answer.text)")
      return try answer.json()
    }

    private func objects(_ value: Any?) throws -> [[String: Any]] {
      try #require(value as? [[String: Any]])
    }

    @Test("envelopes are stored, and the check-in behind them knows of them")
    func both() async throws {
      upstream.behave { _ in .never }
      let answer = try await sync(
        #"{"client":"device-1","lanes":[{"lane":"n","first":1,"last":3}]}"#,
        #"{"path":"/1","lane":"n","sequence":1,"key":"a"}"#,
        #"{"path":"/bad","lane":"n","sequence":"x"}"#,
        #"{"client":"device-1","path":"/2","lane":"n","sequence":2}"#)
      let results = try objects(answer["results"])
      #expect(results.map { $0["result"] as? String } == ["accepted", "rejected", "accepted"])
      #expect(results.map { $0["index"] as? Int } == [0, 1, 2])
      let lane = try objects(answer["lanes"])[0]
      #expect(lane["lastSequence"] as? Int == 2 && lane["waiting"] as? Int == 2)
      #expect(try objects(lane["send"]).map { $0["first"] as? Int } == [3])
      let again = try await sync(
        #"{"client":"device-1"}"#, #"{"path":"/1","lane":"n","sequence":1,"key":"a"}"#)
      let repeated = try objects(again["results"])[0]
      #expect(repeated["result"] as? String == "duplicate")
      #expect(repeated["id"] as? String == results[0]["id"] as? String)
    }

    @Test("what is no JSON is told by its line in the whole post")
    func lines() async throws {
      let answer = try await sync(
        #"{"client":"device-1"}"#, #"{"path":"/1"}"#, #"{"path" 1}"#, "", #"{"path":}"#)
      let problems = try objects(answer["results"]).map { $0["problem"] as? [String: Any] }
      let details = problems.map { ($0?["detail"] as? String)?.split(separator: ":").first }
      #expect(details == [nil, "At line 3, column 9", "At line 5, column 9"], "\(details)")
    }

    @Test("without envelopes it is a check-in, which says what the relay can do")
    func asking() async throws {
      let answer = try await sync(#"{"client":"device-1"}"#)
      #expect(answer["results"] == nil && answer["maySend"] != nil)
      let relay = try #require(answer["relay"] as? [String: Any])
      #expect(relay["version"] as? String == "0.1.0")
      let features = try #require(relay["features"] as? [String])
      #expect(Set(features).isSuperset(of: ["by-key", "responses", "spans", "sync"]))
      #expect(answer["credentialEndsAt"] == nil)
    }

    @Test("small answers come with the endings, and the others have to be asked for")
    func responses() async throws {
      upstream.behave { request in
        switch request.target {
        case "/text":
          .answer(
            201, fields: [WireField(name: "Content-Type", value: "application/json")],
            body: Array(#"{"id":"ä"}"#.utf8))
        case "/bytes": .answer(200, body: [0, 255])
        case "/large": .answer(200, body: Array(repeating: 0x61, count: 101))
        default: .answer(204)
        }
      }
      // What ends while a client checks in for the first time may be told before what had ended.
      _ = try await device.post(["path": "/empty"])
      _ = try await sync(#"{"client":"device-1"}"#)
      let since = try await eventually("the end of the first one") {
        try await sync(#"{"client":"device-1"}"#)["since"] as? String
      }
      let posted = try await sync(
        #"{"client":"device-1"}"#, #"{"path":"/text"}"#, #"{"path":"/bytes"}"#,
        #"{"path":"/large"}"#, #"{"path":"/empty"}"#)
      for result in try objects(posted["results"]) {
        _ = try await device.end(of: try #require(result["id"] as? String))
      }
      let ended = try objects(
        try await sync(
          #"{"client":"device-1","since":"\#(since)","responses":{"bytesMax":100}}"#)["ended"])
      let shown = ended.map { $0["response"] as? [String: Any] }
      #expect(shown[0]?["body"] as? String == #"{"id":"ä"}"#)
      let headers = shown[0]?["headers"] as? [String: String]
      #expect(headers?["Content-Type"] == "application/json")
      #expect(shown[1]?["bodyBase64"] as? String == "AP8=")
      #expect(shown[2] == nil && ended[2]["responseStatus"] as? Int == 200)
      #expect(shown[3]?["body"] as? String == "")
      let again = #"{"client":"device-1","since":"\#(since)"}"#
      let plain = try objects(try await sync(again)["ended"])
      #expect(plain.allSatisfy { $0["response"] == nil })
    }

    @Test("what JSON would write six times as long is told in base64, and counts as it is told")
    func escaped() async throws {
      upstream.behave { _ in .answer(200, body: Array(repeating: 1, count: 60_000)) }
      let posted = try await sync(
        ([#"{"client":"device-1"}"#] + (1...20).map { #"{"path":"/\#($0)"}"# })
          .joined(separator: "\n"))
      for result in try objects(posted["results"]) {
        _ = try await device.end(of: try #require(result["id"] as? String))
      }
      let answer = try await send([#"{"client":"device-1","responses":{"bytesMax":65536}}"#])
      #expect(answer.body.count < (1 << 20) + 20_000, "\(answer.body.count)")
      let shown = try objects(try answer.json()["ended"]).compactMap {
        $0["response"] as? [String: Any]
      }
      #expect(shown.count == 13 && shown.allSatisfy { $0["bodyBase64"] != nil })
    }

    @Test("one check-in brings a mebibyte of answers at the most")
    func bounded() async throws {
      upstream.behave { _ in .answer(200, body: Array(repeating: 0x61, count: 60_000)) }
      let posted = try await sync(
        ([#"{"client":"device-1"}"#] + (1...20).map { #"{"path":"/\#($0)"}"# })
          .joined(separator: "\n"))
      for result in try objects(posted["results"]) {
        _ = try await device.end(of: try #require(result["id"] as? String))
      }
      let ended = try objects(
        try await sync(#"{"client":"device-1","responses":{"bytesMax":65536}}"#)["ended"])
      #expect(ended.count == 20 && ended.count { $0["response"] != nil } == 17)
    }

    @Test("what is wrong with the question, or keeps all out, is a problem, and nothing is stored")
    func refused() async throws {
      let envelope = #"{"client":"device-1","path":"/x"}"#
      for (lines, fields, status, problem) in [
        ([], [:], 422, "invalid-field"), (["{}", envelope], [:], 422, "missing-field"),
        ([#"{"client":"device-1","x":1}"#, envelope], [:], 422, "unknown-field"),
        (["{", envelope], [:], 400, "malformed-json"),
        (
          [#"{"client":"device-1"}"#] + Array(repeating: envelope, count: 1001), [:], 413,
          "batch-too-large"
        ),
        (
          [#"{"client":"device-1"}"#, envelope], ["Content-Type": "application/json"], 415,
          "unsupported-media-type"
        ),
      ] as [([String], [String: String], Int, String)] {
        let answer = try await send(lines, fields)
        #expect(answer.status == status && answer.problem == problem, "\(answer.text)")
      }
      let strict = try await send(
        [#"{"client":"device-1"}"#, envelope, "{}"], ["Prefer": "handling=strict"])
      #expect(strict["Preference-Applied"] == "handling=strict")
      let results = try objects(try strict.json()["results"])
      #expect(results.allSatisfy { $0["result"] as? String == "rejected" })
      #expect(try await device.get("/v1/clients/device-1").status == 404)
    }

    @Test("whoever leaves the question out is told that the first line is one")
    func unasked() async throws {
      let order = "The first line is the check-in's question, and envelopes stand behind it."
      for (lines, problem, more) in [
        ([], "invalid-field", "The body is empty."), ([" ", ""], "invalid-field", "is empty."),
        ([#"{"key":"a","path":"/1"}"#], "unknown-field", #"There is no field "key"."#),
        (["{}"], "missing-field", "The body does not say who checks in."),
      ] as [([String], String, String)] {
        let answer = try await send(lines)
        #expect(answer.problem == problem, "\(answer.text)")
        let detail = try #require(try answer.json()["detail"] as? String)
        #expect(detail.contains(order) && detail.contains(more), "\(detail)")
        #expect(try answer.json()["fix"] is String)
      }
    }

    @Test("a device does all that it may by its own key")
    func byKey() async throws {
      upstream.behave { $0.target == "/no" ? .answer(422) : .answer(201, body: Array("ok".utf8)) }
      let path = "/v1/clients/device-1/envelopes/a%2F1"
      _ = try await device.post(["key": "a/1", "path": "/no", "hold": true, "onFailure": "block"])
      #expect(try await device.get(path).json()["state"] as? String == "held")
      let json = ["Content-Type": "application/json"]
      let patched = try await device.request(
        "PATCH", path, headers: json, body: Array(#"{"tag":"t"}"#.utf8))
      #expect(try patched.json()["tag"] as? String == "t")
      #expect(try await device.request("POST", path + "/run").status == 200)
      #expect(try await device.get(path + "?wait=20").json()["state"] as? String == "blocked")
      let mended = try await device.request(
        "PATCH", path, headers: json, body: Array(#"{"path":"/yes"}"#.utf8))
      #expect(mended.status == 200)
      let retry = Array(#"{"action":"retry"}"#.utf8)
      let resolved = try await device.request(
        "POST", path + "/resolve", headers: json, body: retry)
      #expect(resolved.status == 200, "\(resolved.text)")
      #expect(try await device.get(path + "?wait=20").json()["state"] as? String == "delivered")
      #expect(try await device.get(path + "/response").text == "ok")
      #expect(try await device.request("DELETE", path).problem == "already-ended")
      _ = try await device.post(["key": "b", "path": "/b", "hold": true])
      let other = "/v1/clients/device-1/envelopes/b"
      #expect(try await device.request("DELETE", other).json()["state"] as? String == "cancelled")
      let requeued = try await device.request(
        "POST", other + "/requeue", headers: json, body: Array(#"{"expiresIn":600}"#.utf8))
      #expect(try requeued.json()["state"] as? String == "held")
      let unknown = try await device.request("DELETE", "/v1/clients/device-1/envelopes/none")
      #expect(unknown.status == 404 && unknown.problem == "unknown-envelope", "\(unknown.text)")
    }

    @Test("a span that has passed on the device ends the envelope at once, and a repeat is known")
    func spans() async throws {
      upstream.behave { _ in .never }
      let answer = try await device.post([
        "path": "/old", "key": "old", "age": 100, "expiresIn": 60,
      ])
      let id = try #require(try answer.json()["id"] as? String)
      #expect(try await device.end(of: id)["state"] as? String == "expired")
      let again = try await device.post([
        "path": "/old", "key": "old", "age": 500, "expiresIn": 60,
      ])
      #expect(try again.json()["result"] as? String == "duplicate")
      let other = try await device.post(["path": "/old", "key": "old", "expiresIn": 61])
      #expect(other.problem == "key-conflict")
      let relayed = try await device.relay(
        "PUT", "/r", headers: ["Waystation-Expires-In": "0", "Waystation-Age": "5"])
      let second = try #require(try relayed.json()["id"] as? String)
      #expect(try await device.end(of: second)["state"] as? String == "expired")
    }
  }
}

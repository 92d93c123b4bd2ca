import Foundation
import Testing

extension EndToEnd {
  @Suite("What an envelope carries", .serialized)
  struct RequestView {
    private let id = "4bf92f3577b34da6a3ce929d0e0e4736"

    /// An envelope of a device's that waits, and the relay that holds it.
    private func held(
      _ headers: [String: String], body: [UInt8], more: [String: any Sendable] = [:]
    ) async throws -> (relay: Relay, device: Device, id: String) {
      let relay = try await Relay.guarded(try TestUpstream(), more: more)
      let device = relay.device("truck-7", token: Credentials.derived("truck-7"))
      let posted = try await device.post([
        "path": "/x", "hold": true, "headers": headers,
        "bodyBase64": Data(body).base64EncodedString(),
      ])
      return (relay, device, try #require(try posted.json()["id"] as? String))
    }

    @Test("the fields are shown to who may steer, and no secret among them")
    func fields() async throws {
      let (relay, device, envelope) = try await held(
        [
          "Content-Type": "text/html", "Authorization": "Bearer s3cret", "X-Api-Key": "s3cret",
          "Cookie": "a=s3cret", "X-Auth-Token": "s3cret",
          "X-Plain": "plain", "Idempotency-Key": "k-1",
          "traceparent": "00-\(id)-00f067aa0ba902b7-01",
        ], body: Array("<script>".utf8))
      let answer = try await relay.steering.get("/v1/envelopes/\(envelope)/request")
      #expect(answer.status == 200 && answer["Cache-Control"] == "no-store", "\(answer)")
      let json = try answer.json()
      #expect(json["contentType"] as? String == "text/html" && json["bodyBytes"] as? Int == 8)
      let pairs = try #require(json["headers"] as? [[String]])
      let shown = Dictionary(uniqueKeysWithValues: pairs.map { ($0[0].lowercased(), $0[1]) })
      for name in ["authorization", "x-api-key", "cookie", "x-auth-token"] {
        #expect(shown[name] == "***", "\(name)")
      }
      #expect(shown["x-plain"] == "plain" && shown["idempotency-key"] == "k-1")
      #expect(!answer.text.contains("s3cret"))
      #expect(try await device.get("/v1/envelopes/\(envelope)").json()["trace"] as? String == id)
      for rest in ["request", "body"] {
        let target = "/v1/envelopes/\(envelope)/\(rest)"
        #expect(try await relay.reading.get(target).status == 403)
        #expect(try await device.get(target).status == 403)
        #expect(try await relay.device().get(target).status == 401)
        let unknown = "/v1/envelopes/019f0000-0000-7000-8000-000000400000/\(rest)"
        #expect(try await relay.steering.get(unknown).status == 404)
      }
    }

    @Test("a body comes byte for byte, from the database and from a file, to be saved and not run")
    func bodies() async throws {
      for count in [0, 100, 200_000] {
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let (relay, _, envelope) = try await held(
          ["Content-Type": "text/html"], body: body,
          more: ["limits": ["spoolThresholdBytes": 1000] as [String: any Sendable]])
        let answer = try await relay.steering.get("/v1/envelopes/\(envelope)/body")
        #expect(answer.status == 200 && answer.body == body, "\(count)")
        #expect(answer["Content-Type"] == "application/octet-stream")
        #expect(answer["Content-Disposition"] == "attachment; filename=\"\(envelope).bin\"")
        #expect(answer["X-Content-Type-Options"] == "nosniff")
        #expect(answer["Content-Security-Policy"] == "sandbox; default-src 'none'")
        #expect(answer["Cache-Control"] == "no-store")
      }
    }

    @Test("where anybody may do everything, anybody may see them")
    func open() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let posted = try await relay.device().post(["path": "/x", "hold": true, "body": "b"])
      let id = try #require(try posted.json()["id"] as? String)
      for rest in ["request", "body"] {
        #expect(try await relay.device().get("/v1/envelopes/\(id)/\(rest)").status == 200)
      }
    }
  }
}

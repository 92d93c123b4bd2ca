import Foundation
import RelayServer
import Testing

extension EndToEnd {
  @Suite("Metrics", .serialized)
  struct Metrics {
    /// The values of a text of metrics, by series.
    private static func values(_ text: String) -> [String: Double] {
      var values: [String: Double] = [:]
      for line in text.split(separator: "\n") where !line.hasPrefix("#") {
        guard let blank = line.lastIndex(of: " ") else { continue }
        values[String(line[..<blank])] = Double(line[line.index(after: blank)...])
      }
      return values
    }

    private static func scrape(_ device: Device) async throws -> [String: Double] {
      values(try await device.get("/metrics").text)
    }

    @Test("what was posted, attempted and delivered is counted so")
    func counts() async throws {
      let upstream = try TestUpstream()
      upstream.behave { _ in upstream.received.count < 2 ? .answer(503) : .answer(201) }
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      let posted = try await device.post(["key": "k", "path": "/a"])
      #expect(try await device.post(["key": "k", "path": "/a"]).status == 202)
      #expect(try await device.post(["key": "k", "path": "/other"]).status == 422)
      #expect(try await device.post(batch: [["path": "/b"], ["pfad": "/c"]]).status == 202)
      #expect(try await device.relay("POST", "/d").status == 202)
      _ = try await device.end(of: try #require(posted.json()["id"] as? String))
      try await upstream.received(count: 4)
      let ends = #"waystation_ended_envelopes_total{upstream="default",state="delivered"}"#
      let values = try await eventually("count of three ends") {
        let values = try await Self.scrape(device)
        return values[ends] == 3 ? values : nil
      }
      let results = ["accepted", "duplicate", "coalesced", "rejected"].map {
        values["waystation_posted_envelopes_total{result=\"\($0)\"}"]
      }
      #expect(results == [3, 1, 0, 2])
      let attempts = ["delivered", "unreachable", "refused"].map {
        values["waystation_attempts_total{upstream=\"default\",outcome=\"\($0)\"}"]
      }
      #expect(attempts == [3, 1, 0])
      let delay = "waystation_delivery_delay_seconds"
      #expect(values[delay + #"_count{upstream="default"}"#] == 3)
      #expect(values[delay + #"_bucket{upstream="default",le="+Inf"}"#] == 3)
      #expect((values[delay + #"_sum{upstream="default"}"#] ?? 0) > 0)
      #expect(values[#"waystation_stored_envelopes{state="delivered"}"#] == 3)
      #expect(values[#"waystation_upstream_waiting_envelopes{upstream="default"}"#] == 0)
      #expect(values[#"waystation_upstream_reachable{upstream="default"}"#] == 1)
      #expect(values[#"waystation_http_requests_total{listener="everybody",code="4xx"}"#] == 1)
      #expect((values["waystation_store_commit_duration_seconds_count"] ?? 0) >= 4)
      #expect((values["process_resident_memory_bytes"] ?? 0) > 1_000_000)
      #expect((values["waystation_event_loop_lag_seconds_count"] ?? 0) > 0)
      let sinceStart = Date.now.timeIntervalSince1970 - (values["process_start_time_seconds"] ?? 0)
      #expect(abs(sinceStart) < 120)
    }

    @Test(
      "a dead letter counts as failed, and then as what becomes of it; what expires counts once")
    func endsAgain() async throws {
      let isMended = Monitor(false)
      let upstream = try TestUpstream { _ in .answer(isMended.read { $0 } ? 200 : 400) }
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      var ids: [String] = []
      for _ in 0..<2 {
        let posted = try await device.post(["path": "/", "onFailure": "skip"])
        ids.append(try #require(posted.json()["id"] as? String))
        #expect(try await device.end(of: ids[ids.count - 1])["state"] as? String == "failed")
      }
      isMended.change { $0 = true }
      #expect(try await device.request("DELETE", "/v1/envelopes/\(ids[0])").status == 200)
      #expect(try await device.request("POST", "/v1/envelopes/\(ids[1])/requeue").status == 200)
      let deadline = Date.now.addingTimeInterval(1).ISO8601Format()
      let late = try await device.post(["path": "/", "hold": true, "expiresAt": deadline])
      let lateID = try #require(late.json()["id"] as? String)
      #expect(try await device.end(of: lateID)["state"] as? String == "expired")
      let states = ["delivered", "failed", "expired", "cancelled"]
      try await eventually("each end is counted") {
        let values = try await Self.scrape(device)
        let counts = states.map {
          values["waystation_ended_envelopes_total{upstream=\"default\",state=\"\($0)\"}"]
        }
        return counts == [1, 2, 1, 1] ? true : nil
      }
    }

    @Test("what waits is shown with its age, and what is paused as paused")
    func waiting() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let device = relay.device()
      #expect(try await device.request("POST", "/v1/upstreams/default/pause").status == 200)
      _ = try await device.post(["path": "/"])
      let age = #"waystation_upstream_oldest_waiting_age_seconds{upstream="default"}"#
      let values = try await eventually("age of what waits") {
        let values = try await Self.scrape(device)
        return (values[age] ?? 0) > 0 ? values : nil
      }
      #expect(values[#"waystation_upstream_paused{upstream="default"}"#] == 1)
      #expect(values[#"waystation_upstream_waiting_envelopes{upstream="default"}"#] == 1)
      #expect((values["waystation_waiting_bytes"] ?? 0) > 0)
    }

    @Test("each format is called by its name, and nobody keeps it")
    func formats() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let text = try await relay.device().get("/metrics")
      #expect(text["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
      #expect(text["Cache-Control"] == "no-store" && text["Vary"] == "Accept")
      #expect(text.text.contains("# TYPE waystation_attempts_total counter\n"))
      let newer = try await relay.device().get(
        "/metrics", headers: ["Accept": "application/openmetrics-text; version=1.0.0"])
      #expect(
        newer["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
      #expect(newer.text.hasSuffix("# EOF\n"))
      #expect(newer.text.contains("# TYPE waystation_attempts counter\n"))
    }

    @Test("neither clients nor envelopes make series, however many there are")
    func cardinality() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let device = relay.device()
      _ = try await device.post(["path": "/", "hold": true])
      let before = Set(try await Self.scrape(device).keys)
      let batch = (0..<200).map { number -> [String: any Sendable] in
        [
          "client": "c-\(number)", "lane": "l-\(number)", "tag": "t-\(number)",
          "path": "/\(number)",
          "hold": true,
        ]
      }
      #expect(try await device.post(batch: batch).status == 202)
      let after = try await Self.scrape(device)
      #expect(Set(after.keys) == before)
      #expect(after[#"waystation_stored_envelopes{state="held"}"#] == 201)
    }

    @Test("only operators see them, who may read and no more as well")
    func access() async throws {
      let relay = try await Relay.guarded(try TestUpstream())
      let token = try await relay.token(["client": "d"]).text
      #expect(try await relay.reading.get("/metrics").status == 200)
      #expect(try await relay.steering.get("/metrics").status == 200)
      #expect(try await relay.device("d", token: token).get("/metrics").status == 403)
      #expect(try await relay.device().get("/metrics").status == 401)
    }
  }
}

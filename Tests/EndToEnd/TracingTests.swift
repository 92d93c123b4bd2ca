import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Traces", .serialized, .ofNoStore)
  struct Tracing {
    private let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private let parent = "00f067aa0ba902b7"
    private var sampled: String { "00-\(trace)-\(parent)-01" }

    private func relay(
      _ upstream: TestUpstream, _ collector: Collector, _ tracing: [String: any Sendable] = [:],
      more: [String: any Sendable] = [:]
    ) async throws -> Relay {
      try await Relay.started(
        upstream, more: collector.tracing(tracing).merging(more) { _, given in given })
    }

    private func id(_ answer: WireResponse) throws -> String {
      try answer.require(202)
      return try #require(try answer.json()["id"] as? String)
    }

    private func metric(_ device: Device, _ name: String) async throws -> Int? {
      let text = try await device.get("/metrics").text
      let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
      return line.flatMap { Int($0.dropFirst(name.count + 1)) }
    }

    @Test("an envelope's story is told in its device's trace, and goes on to the upstream")
    func story() async throws {
      let collector = try Collector()
      let upstream = try TestUpstream()
      upstream.behave { _ in upstream.received.count < 2 ? .answer(503) : .answer(201) }
      let relay = try await relay(upstream, collector, ["serviceName": "relay-1"])
      let device = relay.device("truck-7")
      let answer = try await device.relay(
        "POST", "/orders?key=s3cret",
        headers: [
          "traceparent": sampled, "tracestate": "a=1,b=2", "Waystation-Lane": "orders",
        ], body: Array("{}".utf8))
      let id = try id(answer)
      let story = try await device.end(of: id)
      #expect(story["state"] as? String == "delivered" && story["trace"] as? String == trace)
      let spans = try await collector.spans(of: trace, count: 4)
      let accept = try #require(spans.first { $0.name == "accept" })
      #expect(accept.parent == parent && accept.kind == 2 && accept.traceState == "a=1,b=2")
      let attempts = spans.filter { $0.name == "POST" }
      #expect(attempts.map(\.kind) == [3, 3] && attempts.map(\.isError) == [true, false])
      #expect(attempts.map { $0.attributes["http.response.status_code"] } == ["503", "201"])
      #expect(attempts.map { $0.attributes["http.request.resend_count"] } == [nil, "1"])
      #expect(attempts.map { $0.attributes["error.type"] } == ["503", nil])
      let first = try #require(attempts.first).attributes
      #expect(first["server.address"] == "127.0.0.1" && first["url.path"] == "/orders")
      #expect(first["server.port"] == "\(upstream.port)" && first["url.scheme"] == "http")
      let deliver = try #require(spans.first { $0.name == "deliver" })
      #expect(deliver.kind == 5 && !deliver.isError)
      #expect(deliver.attributes["waystation.state"] == "delivered")
      #expect(deliver.attributes["waystation.attempts"] == "2")
      for span in spans {
        #expect(span.name == "accept" || span.parent == accept.id)
        #expect(span.attributes["waystation.envelope.id"] == id)
        #expect(span.attributes["waystation.client"] == "truck-7")
        #expect(span.attributes["waystation.lane"] == "orders")
        #expect(span.attributes["waystation.upstream"] == "default")
        #expect(!span.attributes.values.contains { $0.contains("s3cret") })
      }
      // What the upstream sees as its caller is the attempt.
      #expect(
        upstream.received.map { $0.message.values(of: "traceparent") }
          == attempts.map { ["00-\(trace)-\($0.id)-01"] })
      #expect(upstream.received.allSatisfy { $0["tracestate"] == "a=1,b=2" })
      try await eventually("the count of what was exported") {
        let name = #"waystation_trace_spans_total{result="exported"}"#
        return try await metric(device, name) == 4 ? true : nil
      }
    }

    @Test("without a collector nothing is sent, and what a device says goes on byte for byte")
    func off() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let device = relay.device()
      let given = [sampled, "00-\(trace)-\(parent)-00", "not one", "01-\(trace)-\(parent)-01-x"]
      for value in given {
        let answer = try await device.relay(
          "GET", "/a",
          headers: ["TraceParent": value, "tracestate": "a=1", "Prefer": "wait=20"])
        #expect(answer.status == 200)
      }
      // An envelope names its own, or goes by its post's, or has none.
      let batch: [[String: any Sendable]] = [
        ["path": "/own", "headers": ["traceparent": sampled]], ["path": "/post", "key": "k"],
      ]
      let other = "00-\(trace)-00f067aa0ba902b8-01"
      _ = try await device.post(batch: batch, headers: ["traceparent": other, "tracestate": "p=1"])
      _ = try await device.post(["path": "/none"])
      let received = try await upstream.received(count: 7)
      #expect(received.prefix(4).map { $0["TraceParent"] } == given)
      #expect(received.prefix(4).allSatisfy { $0["tracestate"] == "a=1" })
      let rest = received.dropFirst(4)
      #expect(rest.map { $0["traceparent"] } == [sampled, other, nil])
      #expect(rest.map { $0["tracestate"] } == [nil, "p=1", nil])
      // A repeat within another span of the device's is a repeat.
      let again = try await device.post(
        ["path": "/post", "key": "k"], headers: ["traceparent": sampled])
      #expect(try again.json()["result"] as? String == "duplicate")
      #expect(try threads(of: relay).allSatisfy { $0 != "tracing" })
    }

    private func threads(of relay: Relay) throws -> [String] {
      let folder = "/proc/\(relay.processNumber)/task"
      return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
        try? String(contentsOfFile: "\(folder)/\($0)/comm", encoding: .utf8)
          .trimmingCharacters(in: .whitespacesAndNewlines)
      }
    }

    @Test("what a device does not want recorded is not, and what names no trace gets one")
    func sampling() async throws {
      let collector = try Collector()
      let upstream = try TestUpstream()
      let relay = try await relay(upstream, collector)
      let device = relay.device()
      let given = ["00-\(trace)-\(parent)-00", "not one"]
      for value in given {
        _ = try await device.relay(
          "GET", "/a", headers: ["traceparent": value, "Prefer": "wait=20"])
      }
      let own = try id(try await device.post(["path": "/own", "hold": true]))
      let story = try await device.get("/v1/envelopes/\(own)").json()
      let named = try #require(story["trace"] as? String)
      // It is told of one that ends without an attempt as well.
      #expect(try await device.request("DELETE", "/v1/envelopes/\(own)").status == 200)
      let spans = try await collector.spans(of: named, count: 2)
      #expect(spans.map(\.name) == ["accept", "deliver"] && spans[0].parent == nil)
      #expect(spans[1].parent == spans[0].id)
      #expect(spans[1].attributes["waystation.state"] == "cancelled")
      #expect(spans[1].attributes["waystation.lane"] == "default")
      let sent = try id(try await device.post(["path": "/sent"]))
      let begun = try await device.end(of: sent)
      _ = try await collector.spans(of: try #require(begun["trace"] as? String), count: 3)
      #expect(try collector.spans().allSatisfy { $0.trace != trace })
      #expect(upstream.received.prefix(2).map { $0["traceparent"] } == given)
      let last = try #require(upstream.received.last?["traceparent"])
      #expect(last.contains(try #require(begun["trace"] as? String)))
      // Of those that name none, none are begun where the share is none.
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)], more: collector.tracing(["sampleRatio": 0]))
      relay.signal(SIGHUP)
      try await relay.log(holds: #""changed":"tracing""#)
      let plain = try id(try await device.post(["path": "/plain"]))
      #expect(try await device.end(of: plain)["trace"] == nil)
      #expect(upstream.received.last?["traceparent"] == nil)
    }

    @Test("a collector that is busy, silent or away holds nobody up, and gets it all later")
    func trouble() async throws {
      let collector = try Collector()
      let busy = Behaviour.answer(503, fields: [WireField(name: "Retry-After", value: "0")])
      collector.upstream.behave { _ in busy }
      let upstream = try TestUpstream()
      let relay = try await relay(upstream, collector, ["timeoutMs": 200])
      let device = relay.device()
      func deliver() async throws {
        let answer = try await device.relay(
          "POST", "/a", headers: ["traceparent": sampled, "Prefer": "wait=20"])
        #expect(answer.status == 200)
      }
      try await deliver()
      try await relay.log(holds: "spans cannot be exported")
      collector.upstream.behave { _ in .never }
      try await deliver()
      collector.upstream.stop()
      try await deliver()
      let queued = try await metric(device, "waystation_queued_trace_spans")
      #expect(queued == 9)
      collector.upstream.behave { _ in Collector.success }
      try collector.upstream.start()
      #expect(try await collector.spans(of: trace, count: 9).count == 9)
      try await relay.log(holds: "spans are exported again")
      #expect(relay.log.components(separatedBy: "spans cannot be exported").count == 2)
      #expect(upstream.received.count == 3)
    }

    @Test("a post that takes another's place is told in its own trace, with what follows")
    func coalesced() async throws {
      let collector = try Collector()
      let upstream = try TestUpstream()
      let relay = try await relay(upstream, collector)
      let device = relay.device()
      let later = "4bf92f3577b34da6a3ce929d0e0e4737"
      func post(_ trace: String) async throws -> String {
        try id(
          try await device.post([
            "path": "/a", "hold": true, "coalesce": "a",
            "headers": ["traceparent": "00-\(trace)-\(parent)-01"],
          ]))
      }
      let first = try await post(trace)
      #expect(try await post(later) == first)
      #expect(try await device.request("POST", "/v1/envelopes/\(first)/run").status == 200)
      let spans = try await collector.spans(of: later, count: 3)
      let accept = try #require(spans.first { $0.name == "accept" })
      #expect(spans.filter { $0.parent == accept.id }.map(\.name).sorted() == ["POST", "deliver"])
      let former = try await collector.spans(of: trace, count: 1)
      #expect(former.map(\.name) == ["accept"] && former[0].id != accept.id)
    }

    @Test("an envelope that was accepted before a restart ends in the same trace, below its span")
    func restart() async throws {
      let collector = try Collector()
      let upstream = try TestUpstream()
      upstream.stop()
      let relay = try await relay(upstream, collector)
      let answer = try await relay.device().post(
        ["path": "/a", "headers": ["traceparent": sampled]])
      let before = try await collector.spans(of: trace, count: 1)
      let accept = try #require(before.first { $0.name == "accept" })
      try await relay.kill()
      try upstream.start()
      try await relay.start()
      #expect(try await relay.device().end(of: try id(answer))["state"] as? String == "delivered")
      let deliver = try await eventually("the end") {
        try collector.spans().first { $0.name == "deliver" }
      }
      #expect(deliver.parent == accept.id && deliver.startMs == accept.startMs)
      let last = try #require(try collector.spans().last { $0.name == "POST" })
      #expect(last.parent == accept.id && !last.isError)
    }

    @Test("at the end what waits gets one last try, and no longer than the grace period")
    func ending() async throws {
      let collector = try Collector()
      let upstream = try TestUpstream()
      let patient: [String: any Sendable] = ["batchDelayMs": 600_000]
      let relay = try await relay(
        upstream, collector, patient, more: ["shutdownGraceSeconds": 1])
      func deliver() async throws {
        let answer = try await relay.device().relay(
          "POST", "/a", headers: ["traceparent": sampled, "Prefer": "wait=20"])
        #expect(answer.status == 200)
      }
      try await deliver()
      #expect(collector.upstream.received.isEmpty)
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
      #expect(try collector.spans().map(\.name).sorted() == ["POST", "accept", "deliver"])
      collector.upstream.behave { _ in .never }
      try await relay.start()
      try await deliver()
      relay.signal(SIGTERM)
      #expect(try await relay.ending(seconds: 10) == .exit(0))
      try await relay.log(holds: "spans were not exported")
    }

    @Test("tracing is begun and ended by a reload, and shows no secret")
    func reload() async throws {
      let collector = try Collector()
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let plain = ["default": Relay.quick(upstream)]
      try relay.configure(
        upstreams: plain, more: collector.tracing(["headers": ["X-Api-Key": "s3cret-value"]]))
      relay.signal(SIGHUP)
      try await relay.log(holds: #""changed":"tracing""#)
      let device = relay.device()
      _ = try await device.relay("GET", "/a", headers: ["traceparent": sampled])
      _ = try await collector.spans(of: trace, count: 3)
      #expect(collector.upstream.received.allSatisfy { $0["X-Api-Key"] == "s3cret-value" })
      #expect(try threads(of: relay).contains("tracing"))
      let body = Array(#"{"error":"s3cret-value"}"#.utf8)
      collector.upstream.behave { _ in .answer(401, body: body) }
      _ = try await device.relay("GET", "/b", headers: ["traceparent": sampled])
      try await relay.log(holds: "the collector answered 401")
      #expect(!relay.log.contains("s3cret"))
      try relay.configure(upstreams: plain)
      relay.signal(SIGHUP)
      try await eventually("the end of the thread") {
        try threads(of: relay).contains("tracing") ? nil : true
      }
      let other = "00-\(trace)-\(parent)-03"
      let answer = try await device.relay(
        "GET", "/c", headers: ["traceparent": other, "Prefer": "wait=20"])
      #expect(answer.status == 200 && upstream.received.last?["traceparent"] == other)
    }
  }
}

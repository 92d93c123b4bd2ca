import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("At a limit", .serialized)
  struct Limits {
    @Test("a full queue answers 429, and takes more once there is room")
    func queueFull() async throws {
      let upstream = try TestUpstream()
      upstream.stop()
      let reachability: [String: any Sendable] = ["firstProbeDelayMs": 20, "maxProbeDelayMs": 100]
      let relay = try await Relay.started(
        upstream, upstreamMore: ["reachability": reachability],
        more: ["limits": ["waitingEnvelopesMax": 3] as [String: any Sendable]])
      let device = relay.device()
      for index in 0..<3 { #expect(try await device.post(["path": "/\(index)"]).status == 202) }
      let full = try await device.post(["path": "/3"])
      #expect(full.status == 429)
      #expect(full.problem == "queue-full")
      #expect(full["Retry-After"].flatMap { Int($0) } ?? 0 > 0)
      let relayed = try await device.relay("POST", "/3")
      #expect(relayed.status == 429)

      try upstream.start()
      try await upstream.received(count: 3)
      try await eventually("room for one more") {
        try await device.post(["path": "/3"]).status == 202 ? true : nil
      }
      let received = try await upstream.received(count: 4)
      #expect(received.map(\.target) == ["/0", "/1", "/2", "/3"])
    }

    @Test("one client's full queue answers 429, and others go on")
    func clientQueueFull() async throws {
      let upstream = try TestUpstream { _ in .never }
      let relay = try await Relay.started(
        upstream, more: ["limits": ["clientWaitingEnvelopesMax": 2] as [String: any Sendable]])
      let device = relay.device()
      for index in 0..<2 { #expect(try await device.post(["path": "/\(index)"]).status == 202) }
      let full = try await device.post(["path": "/2"])
      #expect(full.status == 429)
      #expect(full.problem == "client-queue-full")
      #expect(full["Retry-After"] != nil)
      #expect(try await relay.device("device-2").post(["path": "/"]).status == 202)
    }

    @Test("a body over the limit is refused, one at the limit is taken")
    func bodyTooLarge() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream,
        more: [
          "limits": [
            "bodyBytesMax": 1000, "spoolThresholdBytes": 500, "batchBytesMax": 4000,
          ] as [String: any Sendable]
        ])
      let body = [UInt8](repeating: 120, count: 1000)
      #expect(try await relay.device().relay("PUT", "/fits", body: body).status == 202)
      let relayed = try await relay.device().relay("PUT", "/over", body: body + [120])
      #expect(relayed.status == 413)
      #expect(relayed.problem == "body-too-large")
      let posted = try await relay.device().post([
        "path": "/over", "body": String(repeating: "x", count: 1001),
      ])
      #expect(posted.status == 413)
      #expect(posted.problem == "body-too-large")
      // 5,000 blanks, as `gzip` packs them.
      let packed: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xFF, 0xED, 0xC1, 0x31, 0x01,
        0x00, 0x00, 0x00, 0xC2, 0xA0, 0x2A, 0xEB, 0x9F, 0xD2, 0x14, 0x7E, 0x40, 0x01, 0x00,
        0x00, 0x00, 0x00, 0x6F, 0x03, 0x60, 0x2C, 0x0B, 0x87, 0x88, 0x13, 0x00, 0x00,
      ]
      let bomb = try await relay.device().post(json: packed, headers: ["Content-Encoding": "gzip"])
      #expect(bomb.status == 413)
      #expect(bomb.problem == "batch-too-large")
      let chunk = "3e9\r\n" + String(repeating: "x", count: 1001) + "\r\n"
      let chunks =
        "PUT /v1/relay/default/c HTTP/1.1\r\nHost: r\r\nWaystation-Client: c\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n"
      #expect(try await relay.device().raw(Array(chunks.utf8)).status == 413)
      let received = try await upstream.received(count: 1)
      #expect(received.map(\.target) == ["/fits"])
    }

    @Test("a batch of too many is refused whole")
    func batchTooLarge() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream, more: ["limits": ["batchCountMax": 2] as [String: any Sendable]])
      let device = relay.device()
      let batch: [[String: any Sendable]] = (0..<3).map { ["path": "/\($0)"] }
      let answer = try await device.post(batch: batch)
      #expect(answer.status == 413)
      #expect(answer.problem == "batch-too-large")
      #expect(try await device.post(batch: Array(batch.prefix(2))).status == 202)
    }

    @Test("header and request line have limits")
    func header() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let line = try await relay.device().get("/" + String(repeating: "a", count: 9000))
      #expect(line.status == 414)
      #expect(line.problem == "uri-too-long")
      let fields = try await relay.device().get(
        "/healthz", headers: ["X": String(repeating: "a", count: 50_000)])
      #expect(fields.status == 431)
      #expect(fields.problem == "header-fields-too-large")
    }

    @Test("a bad configuration is refused with the key's path, and touches no store", .ofFiles)
    func badConfiguration() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      _ = try await relay.device().post(["path": "/", "hold": true])
      relay.signal(SIGTERM)
      try await relay.ending()
      let data = relay.folder.path + "/data"
      let before = try FileManager.default.contentsOfDirectory(atPath: data).sorted()
      let bad = try relay.folder.write(
        "bad.json",
        #"{"data": "\#(data)", "upstreams": {"default": {"url": "http://a", "maxConcurent": 5}}}"#)
      let (ending, _, errors) = try await Waystation.run("serve", "--config", bad)
      #expect(ending != .exit(0))
      #expect(errors.contains("upstreams.default.maxConcurent"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: data).sorted() == before)
      try await relay.start()
      let status = try await relay.device().get("/status").json()
      let store = try #require(status["store"] as? [String: Any])
      #expect((store["envelopes"] as? [String: Int])?["held"] == 1)
    }

    @Test("a second relay on the same data folder says who holds it", .ofFiles)
    func twoOwners() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let (ending, _, errors) = try await Waystation.run(
        "serve", "--listen", "127.0.0.1:0", "--data", relay.folder.path + "/data",
        "--upstream", "default=\(upstream.url)")
      #expect(ending != .exit(0))
      #expect(errors.contains(relay.folder.path + "/data"))
      #expect(try await relay.device().get("/readyz").status == 200)
    }
  }
}

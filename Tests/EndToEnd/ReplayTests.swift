import Foundation
import Glibc
import Testing

@testable import SQLiteStore

extension EndToEnd {
  @Suite("Replaying what was delivered", .serialized)
  struct Replaying {
    private typealias Body = [String: any Sendable]

    private static let large = Array(String(repeating: "reading ", count: 1000).utf8)

    /// Has ten envelopes delivered in two lanes, of which one has a body in a file.
    private func delivered(_ relay: Relay, _ upstream: TestUpstream) async throws -> [WireRequest] {
      let device = relay.device("truck-7")
      for index in 0..<9 {
        let answer = try await device.post([
          "path": "/\(index)", "lane": "l\(index % 2)", "body": "b\(index)",
        ])
        #expect(answer.status == 202, "\(answer)")
      }
      let whole = String(decoding: Self.large, as: UTF8.self)
      #expect(
        try await device.post(["path": "/9", "lane": "l1", "body": whole, "key": "k9"]).status
          == 202)
      try await eventually("all are delivered") {
        let list = try await device.get("/v1/envelopes?state=delivered").json()
        return (list["envelopes"] as? [Any])?.count == 10 ? true : nil
      }
      return try await upstream.received(count: 10)
    }

    private func begin(
      _ relay: Relay, _ body: Body, _ query: String = ""
    ) async throws -> WireResponse {
      try await relay.device().request(
        "POST", "/v1/operations\(query)", headers: ["Content-Type": "application/json"],
        body: Device.json(body))
    }

    private func ended(_ relay: Relay, _ answer: WireResponse) async throws -> [String: Any] {
      let id = try #require(try answer.json()["id"] as? String, "\(answer)")
      return try await eventually("the operation has ended") {
        let shown = try await relay.device().get("/v1/operations/\(id)").json()
        return shown["state"] as? String == "running" ? nil : shown
      }
    }

    private static let all: Body = [
      "action": "replay", "filter": ["endedSince": "2020-01-01T00:00:00Z"] as Body,
    ]

    @Test("copies come in the order of their lanes, marked, under the keys that were sent before")
    func sameKeys() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream, more: ["limits": ["spoolThresholdBytes": 1000] as Body])
      let first = try await delivered(relay, upstream)
      let uncounted = try await begin(relay, Self.all)
      #expect(uncounted.status == 409 && uncounted.problem == "count-differs", "\(uncounted)")
      let counted = try await begin(relay, Self.all, "?dryRun=true")
      #expect(try counted.json()["matched"] as? Int == 10, "\(counted)")
      let begun = try await begin(relay, Self.all.merging(["expectedCount": 10]) { $1 })
      #expect(try await ended(relay, begun)["done"] as? Int == 10)
      let copies = try await upstream.received(count: 20).suffix(10)
      #expect(upstream.received.count == 20)
      for lane in 0..<2 {
        let isOfLane = { (target: String) in (Int(target.dropFirst()) ?? 0) % 2 == lane }
        let inOrder: [String] = first.map(\.target).filter(isOfLane)
        let copied: [String] = copies.map(\.target).filter(isOfLane)
        #expect(copied == inOrder)
      }
      for copy in copies {
        let original = try #require(first.first { $0.target == copy.target })
        #expect(copy["Idempotency-Key"] == original["Idempotency-Key"])
        #expect(copy.body == original.body && copy["Waystation-Client"] == "truck-7")
        #expect(original["Waystation-Replay"] == nil)
        let id = try #require(copy["Waystation-Replay"])
        let shown = try await relay.device().get("/v1/envelopes/\(id)").json()
        #expect(shown["path"] as? String == copy.target && shown["state"] as? String == "delivered")
      }
      #expect(copies.first { $0.target == "/9" }?.body == Self.large)
      let lanes = try await relay.device().get("/v1/envelopes?lane=replay-1.l1").json()
      let listed = try #require(lanes["envelopes"] as? [[String: Any]])
      #expect(listed.count == 5)
      let copy = try await relay.device().get("/v1/envelopes/\(listed[0]["id"] ?? "")").json()
      #expect(copy["replayOf"] is String, "\(copy)")
      // What is a copy already is left alone.
      try await eventually("all copies are delivered") {
        let counted = try await begin(relay, Self.all, "?dryRun=true").json()
        return counted["matched"] as? Int == 20 ? true : nil
      }
      let second = try await begin(relay, Self.all.merging(["expectedCount": 20]) { $1 })
      let end = try await ended(relay, second)
      #expect(end["done"] as? Int == 10 && end["failed"] as? Int == 10, "\(end)")
      let problems = try #require(end["problems"] as? [[String: Any]])
      #expect(problems.map { $0["type"] as? String } == ["urn:waystation:problem:is-replay"])
    }

    @Test(
      "a replay under fresh keys is told apart, signed as a message of its own, and asked for twice"
    )
    func freshKeys() async throws {
      let upstream = try TestUpstream()
      let keys: [String] = ["whsec_" + Data(repeating: 7, count: 32).base64EncodedString()]
      let relay = try await Relay.started(upstream, upstreamMore: ["signing": ["keys": keys]])
      let first = try await delivered(relay, upstream)
      let unasked = try await relay.command("envelopes", "replay", "--client", "truck-7")
      #expect(unasked.ending == .exit(2) && unasked.errors.contains("--yes"), "\(unasked)")
      #expect(unasked.errors.contains("10 envelopes"))
      for isFresh in [false, true] {
        let done = try await relay.command(
          "envelopes", "replay", "--client", "truck-7", "--lane", "l0", "--yes",
          isFresh ? "--fresh-keys" : "--json")
        #expect(done.ending == .exit(0), "\(done)")
        let copies = try await upstream.received(count: isFresh ? 20 : 15).suffix(5)
        for copy in copies {
          let original = try #require(first.first { $0.target == copy.target })
          #expect((copy["Idempotency-Key"] == original["Idempotency-Key"]) == !isFresh)
          #expect((copy["webhook-id"] == original["webhook-id"]) == !isFresh)
          #expect(copy["Waystation-Replay"] != nil)
        }
      }
      #expect(try await relay.command("envelopes", "replay").ending == .exit(2))
    }

    private static func answer(_ request: WireRequest, _ name: String) -> [UInt8] {
      answer(of: request.target, name)
    }

    private static func answer(of target: String, _ name: String) -> [UInt8] {
      Array(#"{"id":"\#(name)\#(target)"}"#.utf8)
    }

    /// Has two orders delivered, and a note on each that refers to the order's answer.
    private func noted(_ relay: Relay, _ upstream: TestUpstream) async throws {
      let device = relay.device("truck-7")
      for order in ["o1", "o2"] {
        let note: Body = [
          "path": "/notes/{{response:\(order)#/id}}", "references": true, "tag": "note",
          "headers": ["X-Order": "{{response:\(order)#/id}}"] as Body,
          "body": ["text": "of {{response:\(order)#/id}}"] as Body,
        ]
        let posted = try await device.post(batch: [["path": "/\(order)", "key": order], note])
        #expect(posted.status == 202, "\(posted)")
      }
      try await eventually("all are delivered") {
        let list = try await device.get("/v1/envelopes?state=delivered").json()
        return (list["envelopes"] as? [Any])?.count == 4 ? true : nil
      }
    }

    /// Replays all that a filter matches, and returns the operation once it has ended.
    private func replay(
      _ relay: Relay, _ filter: Body, _ count: Int
    ) async throws -> [String: Any] {
      try await ended(
        relay,
        try await begin(relay, ["action": "replay", "filter": filter, "expectedCount": count]))
    }

    @Test("copies have the values that the originals were sent with, whatever the upstream has now")
    func references() async throws {
      let upstream = try TestUpstream { .answer(201, body: Self.answer($0, "a")) }
      let relay = try await Relay.started(upstream)
      try await noted(relay, upstream)
      let first = try await upstream.received(count: 4)
      upstream.behave { .answer(201, body: Self.answer($0, "b")) }
      let end = try await replay(relay, ["client": "truck-7"], 4)
      #expect(end["done"] as? Int == 4 && end["problems"] == nil, "\(end)")
      let copies = try await upstream.received(count: 8).suffix(4)
      #expect(copies.map(\.target) == first.map(\.target))
      #expect(copies.map(\.target)[1] == "/notes/a%2Fo1")
      for (copy, original) in zip(copies, first) {
        #expect(copy.body == original.body && copy["X-Order"] == original["X-Order"])
        #expect(copy["Idempotency-Key"] == original["Idempotency-Key"])
      }
    }

    @Test("what cannot be filled any more is left out, and the operation says so", .ofFiles)
    func unfilled() async throws {
      let upstream = try TestUpstream { .answer(201, body: Self.answer($0, "a")) }
      let relay = try await Relay.started(upstream)
      try await noted(relay, upstream)
      relay.signal(SIGTERM)
      try await relay.ending()
      // The answer to the first order is lost.
      let file = URL(fileURLWithPath: DataFolder.database(in: relay.folder.path + "/data"))
      var bytes = try Data(contentsOf: file)
      let kept = try #require(bytes.range(of: Data(Self.answer(of: "/o1", "a"))))
      bytes[kept.upperBound - 1] = UInt8(ascii: "]")
      try bytes.write(to: file)
      try await relay.start()
      let end = try await replay(relay, ["client": "truck-7"], 4)
      #expect(end["done"] as? Int == 3 && end["failed"] as? Int == 1, "\(end)")
      let problem = try #require((end["problems"] as? [[String: Any]])?.first)
      #expect(problem["type"] as? String == "urn:waystation:problem:unfilled-references")
      let copies = try await upstream.received(count: 7).suffix(3)
      #expect(copies.map(\.target) == ["/o1", "/o2", "/notes/a%2Fo2"])
      // What another relay has filled, that relay has the answers of.
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream, ["batch": ["format": "waystation"] as Body])])
      try await relay.kill()
      try await relay.start()
      let handedOn = try await replay(relay, ["tag": "note", "lane": "default"], 2)
      #expect(handedOn["done"] as? Int == 0 && handedOn["failed"] as? Int == 2, "\(handedOn)")
    }

    @Test("nobody but the relay marks a request as a replay")
    func forged() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let device = relay.device("truck-7")
      let posted = try await device.post([
        "path": "/a", "headers": ["Waystation-Replay": "x"] as Body,
      ])
      #expect(posted.status == 422, "\(posted)")
      let relayed = try await device.request(
        "POST", "/v1/relay/default/b",
        headers: [
          "Waystation-Client": "truck-7", "Waystation-Replay": "x", "waystation_replay": "y",
        ])
      #expect(relayed.status == 202, "\(relayed)")
      let received = try await upstream.received(count: 1)
      #expect(received[0]["Waystation-Replay"] == nil && received[0]["waystation_replay"] == nil)
    }
  }
}

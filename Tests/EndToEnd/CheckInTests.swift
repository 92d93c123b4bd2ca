import Foundation
import Testing

extension EndToEnd {
  @Suite("Checking in", .serialized)
  struct CheckingIn {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
    }

    /// A device with a connection of its own, which no restart has cut.
    private var device: Device { relay.device() }

    private func checkIn(_ more: [String: any Sendable] = [:]) async throws -> [String: Any] {
      let question = more.merging(["client": "device-1"]) { given, _ in given }
      let answer = try await device.request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Device.json(question))
      #expect(answer.status == 200, "\(answer.text)")
      return try answer.json()
    }

    private func post(_ numbers: Int...) async throws -> [String] {
      var ids: [String] = []
      for number in numbers {
        let posted = try await device.post(["path": "/\(number)", "sequence": number])
        #expect(posted.status == 202)
        ids.append(try #require(posted.json()["id"] as? String))
      }
      return ids
    }

    private func ended(_ answer: [String: Any]) throws -> [[String: Any]] {
      try #require(answer["ended"] as? [[String: Any]])
    }

    private func ranges(_ value: Any?) throws -> [[Int?]] {
      try #require(value as? [[String: Int]]).map { [$0["first"], $0["last"]] }
    }

    @Test("a device is told what is held, what to send, and how much it may")
    func conversation() async throws {
      upstream.behave { _ in .never }
      _ = try await post(1, 2, 5, 6, 9)
      let answer = try await checkIn([
        "lanes": [
          ["first": 2, "last": 12, "bytes": 700] as [String: any Sendable],
          ["lane": "photos", "first": 1, "last": 3] as [String: any Sendable],
        ]
      ])
      #expect(answer["client"] as? String == "device-1")
      let time = try #require(answer["time"] as? String)
      let formatter = ISO8601DateFormatter()
      formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
      #expect(abs(try #require(formatter.date(from: time)).timeIntervalSinceNow) < 60)
      let lanes = try #require(answer["lanes"] as? [[String: Any]])
      #expect(lanes.map { $0["lane"] as? String } == ["default", "photos"])
      #expect(lanes[0]["lastSequence"] as? Int == 2)
      #expect(try ranges(lanes[0]["missing"]) == [[3, 4], [7, 8]])
      #expect(try ranges(lanes[0]["send"]) == [[3, 4], [7, 8], [10, 12]])
      #expect(lanes[1]["lastSequence"] == nil)
      #expect(try ranges(lanes[1]["send"]) == [[1, 3]])
      let maySend = try #require(answer["maySend"] as? [String: Int])
      #expect(maySend["envelopes"] == 50_000_000 - 5)
      #expect(maySend["envelopesPerBatch"] == 1000)
      #expect(try #require(maySend["bytes"]) > 0)
      #expect(answer["retryAfterSeconds"] == nil)
      #expect(try ended(answer).isEmpty)
    }

    @Test("what ended is told until the device says that it has seen it, over kill -9")
    func endings() async throws {
      upstream.behave { $0.target == "/2" ? .answer(422) : .answer(201) }
      let ids = try await post(1, 2, 3)
      for id in ids { _ = try await device.end(of: id) }
      let first = try await checkIn()
      #expect(try ended(first).map { $0["id"] as? String } == ids)
      let states = try ended(first).map { $0["state"] as? String }
      #expect(states == ["delivered", "failed", "delivered"])
      #expect(try ended(first).map { $0["responseStatus"] as? Int } == [201, 422, 201])
      #expect(try ended(first).map { $0["sequence"] as? Int } == [1, 2, 3])
      #expect(first["more"] as? Bool == false)

      // The answer got lost: nothing is forgotten before the device says that it has it.
      try await relay.kill()
      try await relay.start()
      let since = try #require(first["since"] as? String)
      #expect(try ended(try await checkIn()).count == 3)
      let later = try await post(4)
      _ = try await device.end(of: later[0])
      let second = try await checkIn(["since": since])
      #expect(try ended(second).map { $0["id"] as? String } == later)
      try await relay.kill()
      try await relay.start()
      #expect(try ended(try await checkIn(["since": since])).count == 1)
      let third = try await checkIn(["since": try #require(second["since"] as? String)])
      #expect(try ended(third).isEmpty)
    }

    @Test("numbers that a lane went on without are named, and not asked for")
    func skipped() async throws {
      let lanes: [String: any Sendable] = ["default": ["gapTimeoutSeconds": 1]]
      let hasty = try await Relay.started(upstream, more: ["lanes": lanes])
      let device = hasty.device()
      _ = try await device.post(["path": "/3", "sequence": 3])
      let lane = try await eventually("a lane that went on") {
        let answer = try await device.request(
          "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
          body: Device.json([
            "client": "device-1",
            "lanes": [["first": 2, "last": 4] as [String: any Sendable]],
          ]))
        let lane = (try answer.json()["lanes"] as? [[String: Any]])?.first
        return lane?["missing"] == nil ? lane : nil
      }
      #expect(try ranges(lane["skipped"]) == [[2, 2]])
      #expect(try ranges(lane["send"]) == [[4, 4]])
      let client = try await device.get("/v1/clients/device-1").json()
      let shown = try #require(client["lanes"] as? [[String: Any]])
      #expect(try ranges(shown[0]["skipped"]) == [[1, 2]])
    }

    @Test("a client that was never heard of is told to send everything")
    func unknownClient() async throws {
      let answer = try await checkIn(["client": "new", "lanes": [["first": 3, "last": 4]]])
      let lanes = try #require(answer["lanes"] as? [[String: Any]])
      #expect(try ranges(lanes[0]["send"]) == [[3, 4]])
      #expect(answer["since"] == nil)
      #expect(try await device.get("/v1/clients/new").status == 404)
    }

    @Test("a full relay says how long to stay away")
    func pressure() async throws {
      upstream.behave { _ in .never }
      let small = try await Relay.started(upstream, more: ["limits": ["waitingEnvelopesMax": 1]])
      _ = try await small.device().post(["path": "/"])
      let answer = try await small.device().request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Device.json(["client": "device-1"]))
      let json = try answer.json()
      #expect((json["maySend"] as? [String: Int])?["envelopes"] == 0)
      #expect(try #require(json["retryAfterSeconds"] as? Int) >= 1)
    }

    @Test(
      "bad questions are refused by field",
      arguments: [
        (#"{}"#, "missing-field", "/client"),
        (#"{"client":"a b"}"#, "invalid-field", "/client"),
        (#"{"client":"a","lanes":[{"first":1}]}"#, "missing-field", "/lanes/0/last"),
        (#"{"client":"a","lanes":[{"first":4,"last":3}]}"#, "invalid-field", "/lanes/0/first"),
        (#"{"client":"a","lanes":[{"first":0,"last":3}]}"#, "invalid-field", "/lanes/0/first"),
        (#"{"client":"a","lanes":[{},{}]}"#, "invalid-field", "/lanes/1"),
        (#"{"client":"a","lanes":[{"lanes":"x"}]}"#, "unknown-field", "/lanes/0/lanes"),
        (#"{"client":"a","since":7}"#, "invalid-field", "/since"),
        (#"{"client":"a","sine":"7"}"#, "unknown-field", "/sine"),
      ])
    func bad(body: String, problem: String, field: String) async throws {
      let answer = try await device.request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Array(body.utf8))
      #expect(answer.status == 422)
      #expect(answer.problem == problem)
      #expect(try answer.json()["field"] as? String == field)
    }
  }
}

import Foundation
import Testing

extension EndToEnd {
  @Suite("What is kept of uploads, and for how long", .serialized)
  struct UploadKeeping {
    private let upstream: TestUpstream

    init() throws { upstream = try TestUpstream() }

    private func relay(_ limits: [String: any Sendable]) async throws -> Relay {
      try await Relay.started(upstream, more: ["limits": limits])
    }

    /// The bodies that have reached the upstream.
    private func bodies() async throws -> [[UInt8]] {
      try await upstream.received(count: 1).map(\.body)
    }

    @Test("an open upload claims its length of its client's quota, and gives it back")
    func quota() async throws {
      let relay = try await relay(["clientWaitingBytesMax": 10_000, "clientUploadsMax": 2])
      let sender = Uploader(relay)
      let location = try await sender.create("/p", ["Upload-Length": "8000"])
      let more = try await sender.creation("/q", ["Upload-Length": "8000"])
      #expect(more.status == 429 && more.problem == "client-queue-full", "\(more)")
      try await relay.kill()
      try await relay.start()
      let still = try await sender.creation("/q", ["Upload-Length": "8000"])
      #expect(still.status == 429, "\(still)")
      let growing = try await sender.create("/r")
      let third = try await sender.creation("/s")
      #expect(third.status == 429 && third.problem == "too-many-uploads", "\(third)")
      let grown = try await sender.append(
        growing, at: 0, completes: false, body: [UInt8](repeating: 1, count: 5000))
      #expect(grown.status == 429, "\(grown)")
      #expect(try await sender.send("DELETE", location)?.status == 204)
      let offset = try await sender.offset(growing)
      let taken = try await sender.append(
        growing, at: offset, completes: true,
        body: [UInt8](repeating: 1, count: 9000 - offset))
      #expect(taken.status == 202, "\(taken)")
      #expect(try await bodies() == [[UInt8](repeating: 1, count: 9000)])
    }

    @Test(
      "uploads of which nothing comes take no more of the room than one client may have", .ofFiles)
    func share() async throws {
      let relay = try await relay(["storeBytesMax": 40_000_000, "clientUploadsMax": 16])
      let greedy = Uploader(relay, client: "greedy")
      // A first one has what room there is.
      _ = try await greedy.create("/p", ["Upload-Length": "9000000"])
      let second = try await greedy.creation("/q", ["Upload-Length": "9000000"])
      #expect(second.status == 429 && second.problem == "too-many-uploads", "\(second)")
      #expect(second.text.contains("may claim"), "\(second)")
      let other = Uploader(relay, client: "other")
      _ = try await other.create("/r", ["Upload-Length": "9000000"])
    }

    @Test("an upload that is kept for less than a minute is forgotten once that is over")
    func soon() async throws {
      let relay = try await Relay.started(
        upstream, more: ["retention": ["uploadSeconds": 1], "limits": ["clientUploadsMax": 1]])
      let sender = Uploader(relay)
      let location = try await sender.create("/p", body: [1])
      try await sender.forgotten(location)
      _ = try await sender.create("/q")
    }

    @Test("an upload that does not go on is forgotten, and what it claimed is free")
    func expiry() async throws {
      let limits: [String: any Sendable] = ["clientUploadsMax": 1]
      let relay = try await relay(limits)
      let sender = Uploader(relay)
      let location = try await sender.create("/p", body: [1])
      try await relay.kill()
      try await relay.start()
      #expect(try await sender.offset(location) == 1)
      #expect(try await sender.creation("/q").problem == "too-many-uploads")
      try await relay.kill()
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)],
        more: ["limits": limits, "retention": ["uploadSeconds": 0]])
      // A round of retention begins with each start.
      try await relay.start()
      try await sender.forgotten(location)
      #expect(try await sender.state(location).status == 404)
      #expect(try await sender.create("/q") != location)
      let metrics = try await relay.device().get("/metrics").text
      #expect(metrics.contains("waystation_open_uploads 1\n"))
      #expect(metrics.contains("waystation_uploads_total{event=\"expired\"} 1\n"))
    }

    @Test("an upload takes the place of an envelope that waits, as any post does, and is forgotten")
    func coalesced() async throws {
      let relay = try await relay([:])
      let sender = Uploader(relay)
      let device = relay.device()
      _ = try await device.request("POST", "/v1/clients/device-1/pause")
      let fields = ["Waystation-Coalesce": "state"]
      var locations: [String] = []
      for (body, result) in [([1, 2], "accepted"), ([3, 4], "coalesced")] as [([UInt8], String)] {
        let location = try await sender.create("/p", fields, body: [body[0]])
        locations.append(location)
        let answer = try await sender.append(location, at: 1, completes: true, body: [body[1]])
        #expect(try answer.json()["result"] as? String == result, "\(answer)")
        let again = try await sender.append(location, at: 1, completes: true, body: [body[1]])
        #expect(try again.json()["result"] as? String == "duplicate", "\(again)")
      }
      try await relay.kill()
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)], more: ["retention": ["uploadSeconds": 0]])
      try await relay.start()
      for location in locations { try await sender.forgotten(location) }
      _ = try await relay.device().request("POST", "/v1/clients/device-1/resume")
      #expect(try await bodies() == [[3, 4]])
    }

    @Test("a store with an open upload is sound, and a copy of it begins without", .ofFiles)
    func copied() async throws {
      let relay = try await relay([:])
      let sender = Uploader(relay)
      let location = try await sender.create("/p", body: [1, 2, 3])
      let whole = try await sender.create("/q", body: [4])
      #expect(try await sender.append(whole, at: 1, completes: true, body: [5]).status == 202)
      let data = relay.folder.path + "/data"
      let copy = relay.folder.path + "/copy"
      let backup = try await Waystation.run("store", "backup", "--data", data, "--to", copy)
      #expect(backup.ending == .exit(0), "\(backup)")
      try await relay.kill()
      for folder in [data, copy] {
        let check = try await Waystation.run("store", "check", "--data", folder)
        #expect(check.ending == .exit(0), "\(check)")
      }
      try relay.configure(upstreams: ["default": Relay.quick(upstream)], more: ["data": copy])
      try await relay.start()
      #expect(try await sender.state(location).status == 404)
      #expect(try await sender.state(whole)["Upload-Complete"] == "?1")
      try await relay.kill()
      try relay.configure(upstreams: ["default": Relay.quick(upstream)])
      try await relay.start()
      #expect(try await sender.offset(location) == 3)
    }

    @Test("an upload whose envelope's deadline has passed is told so, and takes nothing more")
    func deadline() async throws {
      let relay = try await relay([:])
      let sender = Uploader(relay)
      let late = try await sender.creation("/p", ["Waystation-Expires-In": "0"])
      #expect(late.status == 422 && late.problem == "invalid-field", "\(late)")
      let answer = try await sender.creation("/p", ["Waystation-Expires-In": "3"], body: [1])
      let limit = try #require(answer["Upload-Limit"]?.components(separatedBy: "max-age=").last)
      #expect(answer.status == 201 && (Int(limit) ?? .max) <= 3, "\(answer)")
      let location = try #require(answer["Location"])
      let expired = try await eventually("an upload past its deadline") {
        let answer = try await sender.append(location, at: 1, completes: false, body: [])
        return answer.status == 204 ? nil : answer
      }
      #expect(expired.status == 404 && expired.problem == "unknown-upload", "\(expired)")
      #expect(expired.text.contains("has expired: the deadline of its envelope was 20"))
      let metrics = try await relay.device().get("/metrics").text
      #expect(metrics.contains("waystation_uploads_total{event=\"expired\"} 1\n"))
    }

    @Test("a relay without uploads says so, and takes what is whole")
    func none() async throws {
      let relay = try await relay(["uploadsMax": 0])
      let sender = Uploader(relay)
      let refused = try await sender.creation("/p")
      #expect(refused.status == 403 && refused.problem == "forbidden", "\(refused)")
      #expect(refused["Retry-After"] == nil)
      let whole = ["Upload-Complete": "?1", "Upload-Draft-Interop-Version": "8"]
      let photo = Uploader.photo(300_000)
      #expect(try await sender.creation("/q", whole, body: photo).status == 202)
      let answer = try await relay.device().request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Array(#"{"client":"device-1"}"#.utf8))
      let features = try #require(
        (try answer.json()["relay"] as? [String: Any])?["features"] as? [String])
      #expect(features.contains("sync") && !features.contains("uploads"))
      #expect(try await bodies() == [photo])
    }

    @Test(
      "an open upload counts against the store's limit, and ends within what it has claimed",
      .ofFiles)
    func storeLimit() async throws {
      let relay = try await relay(["storeBytesMax": 3 << 20, "clientSharePercent": 100])
      let sender = Uploader(relay)
      let length = ["Upload-Length": "\(2 << 20)"]
      let location = try await sender.create("/p", length)
      let second = try await sender.creation("/q", length)
      #expect(second.status == 507 && second.problem == "disk-full", "\(second)")
      let photo = Uploader.photo(2 << 20)
      // What has come of one whose length is not known counts as well.
      let other = try await sender.create("/r", body: Array(photo[..<1_000_000]))
      let post = try await relay.device().post(["path": "/small"])
      #expect(post.status == 507, "\(post)")
      let answer = try await sender.append(location, at: 0, completes: true, body: photo)
      #expect(answer.status == 202, "\(answer)")
      #expect(try await sender.send("DELETE", other)?.status == 204)
      #expect(try await bodies() == [photo])
    }

    @Test("a step of the machine's clock ends no upload", .ofFiles)
    func clockStep() async throws {
      let clock = try FakeClock()
      let relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)],
        more: ["clock": ["settleSeconds": 1], "retention": ["failedSeconds": 0]],
        environment: clock.environment)
      try await relay.start()
      let sender = Uploader(relay)
      // Its own deadline is another matter: that passes by the clock that counts.
      let deadline = ["Waystation-Expires-In": "\(365 * 86_400)"]
      let location = try await sender.create("/p", deadline, body: [1])
      try clock.set(ahead: 30 * FakeClock.day)
      try await eventually("the clock counts") {
        _ = try await relay.device().get("/healthz")
        return relay.log.contains("the clock was set ahead, and counts now") ? true : nil
      }
      // What has ended is deleted by the same round of retention, and after uploads.
      let device = relay.device()
      let held = try await device.post(["path": "/b", "hold": true])
      let id = try #require(try held.json()["id"] as? String)
      #expect(try await device.request("DELETE", "/v1/envelopes/\(id)").status == 200)
      try await relay.kill()
      try await relay.start()
      try await eventually("a round of retention") {
        try await relay.device().get("/v1/envelopes/\(id)").status == 404 ? true : nil
      }
      #expect(try await sender.offset(location) == 1)
    }
  }
}

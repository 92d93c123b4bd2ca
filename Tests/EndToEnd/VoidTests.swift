import Foundation
import Testing

extension EndToEnd {
  @Suite("Numbers that never come", .serialized)
  struct Voids {
    private typealias Body = [String: any Sendable]

    private func numbers(_ upstream: TestUpstream, _ count: Int) async throws -> [String] {
      try await upstream.received(count: count).map(\.target)
    }

    @Test("a device declares the number of a refused item void, and the lane goes on behind it")
    func refused() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(
        upstream, more: ["limits": ["bodyBytesMax": 1000] as Body])
      let device = relay.device("truck-7")
      let large = String(repeating: "x", count: 2000)
      let batch = try await device.post(batch: [
        ["path": "/1", "sequence": 1], ["path": "/2", "sequence": 2, "body": large],
        ["path": "/3", "sequence": 3],
      ])
      let results = try #require(try batch.json()["results"] as? [[String: Any]])
      #expect(results.map { $0["result"] as? String } == ["accepted", "rejected", "accepted"])
      #expect(results[2]["state"] as? String == "parked")
      let answer = try await device.post(["sequence": 2, "void": true])
      #expect(answer.status == 202 && answer["Location"] == nil, "\(answer)")
      #expect(
        try answer.json() as? [String: String]
          == ["result": "void", "client": "truck-7", "lane": "default"])
      #expect(try await numbers(upstream, 2) == ["/1", "/3"])
      let again = try await device.post(batch: [
        ["sequence": 2, "void": true], ["sequence": 3, "void": true],
        ["sequence": 4, "void": true],
        ["path": "/5", "sequence": 5], ["path": "/2", "sequence": 2],
      ])
      let second = try #require(try again.json()["results"] as? [[String: Any]])
      #expect(
        second.map { $0["result"] as? String }
          == ["duplicate", "rejected", "void", "accepted", "rejected"])
      let problems = second.compactMap { ($0["problem"] as? [String: Any])?["type"] as? String }
      #expect(
        problems == [
          "urn:waystation:problem:sequence-conflict", "urn:waystation:problem:sequence-passed",
        ])
      #expect(try await numbers(upstream, 3) == ["/1", "/3", "/5"])
      let shown = try await device.get("/v1/clients/truck-7").json()
      let lane = try #require((shown["lanes"] as? [[String: Any]])?.first)
      #expect(lane["lastSequence"] as? Int == 5 && lane["missing"] == nil, "\(lane)")
      let checkIn = try await device.request(
        "POST", "/v1/checkin", headers: ["Content-Type": "application/json"],
        body: Device.json(["client": "truck-7"] as Body)
      ).json()
      #expect("\(checkIn)".contains("skipped"))
      try await relay.kill()
      try await relay.start()
      #expect(
        try await relay.device("truck-7").post(["sequence": 4, "void": true]).json()["result"]
          as? String
          == "duplicate")
    }

    @Test("a strict batch refuses an envelope under a number that it declares void, as others do")
    func strict() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let batch: [Body] = [
        ["sequence": 1, "void": true], ["path": "/1", "sequence": 1],
        ["path": "/2", "sequence": 2],
      ]
      let problem = "urn:waystation:problem:sequence-passed"
      for prefers in ["handling=strict", "handling=lenient"] {
        let answer = try await relay.device("truck-7").post(
          batch: batch, headers: ["Prefer": prefers])
        let results = try #require(try answer.json()["results"] as? [[String: Any]], "\(answer)")
        let problems = results.map { ($0["problem"] as? [String: Any])?["type"] as? String }
        #expect(problems[1] == problem, "\(answer)")
        #expect(answer.status == (prefers == "handling=strict" ? 422 : 202))
      }
    }

    @Test("the command declares a number void, alone and in a file")
    func command() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.started(upstream)
      let words = ["send", "--client", "truck-7", "--sequence", "1", "--void"]
      for said in ["is void", "had come, or was given up, before"] {
        let process = try ChildProcess(Waystation.path, words, environment: relay.address)
        #expect(try await process.ending() == .exit(0), "\(process.errors)")
        #expect(process.output == "number 1 of lane default \(said)\n")
      }
      let folder = try TemporaryFolder()
      let file = folder.path + "/lines"
      try #"""
      {"client": "truck-7", "sequence": 2, "void": true}
      {"client": "truck-7", "sequence": 3, "path": "/3"}

      """#.write(toFile: file, atomically: true, encoding: .utf8)
      let sent = try await relay.command("send", "--file", file)
      #expect(sent.ending == .exit(0), "\(sent)")
      #expect(try await numbers(upstream, 1) == ["/3"])
    }

    @Test("what is void has nothing but its number, and no correction makes anything void")
    func wrong() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let device = relay.device("truck-7")
      let cases: [(Body, String, String)] = [
        (["sequence": 1, "void": true, "path": "/a"], "invalid-field", "/path"),
        (["void": true], "missing-field", "/sequence"),
        (["sequence": 1, "void": "yes"], "invalid-field", "/void"),
        (["sequence": 1, "void": true, "tag": "t"], "invalid-field", "/tag"),
      ]
      for (body, problem, field) in cases {
        let answer = try await device.post(body)
        #expect(answer.status == 422 && answer.problem == problem, "\(body) \(answer)")
        #expect(try answer.json()["field"] as? String == field)
      }
      let posted = try await device.post(["path": "/a", "hold": true, "void": false])
      let id = try #require(try posted.json()["id"] as? String)
      let patched = try await device.request(
        "PATCH", "/v1/envelopes/\(id)", headers: ["Content-Type": "application/merge-patch+json"],
        body: Device.json(["void": true]))
      #expect(patched.status == 422, "\(patched)")
    }

    @Test("an operator has a lane go on at once, and the audit log has what was given up")
    func skips() async throws {
      let upstream = try TestUpstream()
      let relay = try await Relay.guarded(upstream)
      let device = relay.device("truck-7", token: Credentials.derived("truck-7"))
      for number in [1, 4, 5, 9] {
        _ = try await device.post(["path": "/\(number)", "lane": "log", "sequence": number])
      }
      #expect(try await numbers(upstream, 1) == ["/1"])
      let path = "/v1/clients/truck-7/lanes/log/skip"
      #expect(try await device.request("POST", path).status == 403)
      #expect(try await relay.reading.request("POST", path).status == 403)
      let skipped = try await relay.command(
        "lanes", "skip", "truck-7/log", token: Credentials.steer)
      #expect(skipped.output == "lane truck-7/log goes on without 2 to 3, 6 to 8\n", "\(skipped)")
      #expect(try await numbers(upstream, 4) == ["/1", "/4", "/5", "/9"])
      let nothing = try await relay.steering.request("POST", path)
      #expect(nothing.status == 200 && nothing.text == #"{"skipped":[]}"#, "\(nothing)")
      let late = try await device.post(["path": "/3", "lane": "log", "sequence": 3])
      #expect(late.status == 409 && late.problem == "sequence-passed")
      let unknown = try await relay.steering.request("POST", "/v1/clients/nobody/lanes/log/skip")
      #expect(unknown.status == 404 && unknown.problem == "unknown-client")
      let audit = try await relay.reading.get("/v1/audit?subject=clients/truck-7/lanes/log").json()
      let entries = try #require(audit["entries"] as? [[String: Any]])
      #expect(entries.last?["detail"] as? String == "2 to 3, 6 to 8", "\(entries)")
    }
  }
}

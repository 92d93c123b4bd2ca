#if PostgreSQL
import Foundation
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "Posts that a spare passes on together", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct PassingTogether {
    private let upstream: TestUpstream
    private let authority: CertificateAuthority
    private let url: String

    init() async throws {
      upstream = try TestUpstream()
      authority = try await CertificateAuthority(name: "relays")
      url = try TestDatabase.fresh().url
    }

    /// Starts a relay that has the store, and its spare.
    ///
    /// - Parameters:
    ///   - relaysPort: The first one's port for relays; 0 for any.
    ///   - detour: The port at which the spare reaches it; nil for its own.
    ///   - limits: What the first one has in place of the tests' limits.
    private func startBoth(
      at relaysPort: UInt16 = 0, reachedBy detour: UInt16? = nil, limits: [String: Int]? = nil
    ) async throws -> (Relay, Relay) {
      let holder = try await Passing.relay(
        "relay-1", upstream, authority, url, at: relaysPort, reachedBy: detour, limits: limits)
      try await holder.start()
      try await holder.log(holds: "line taken up")
      let spare = try await Passing.relay("relay-2", upstream, authority, url)
      try await spare.start()
      try await spare.log(holds: "this one waits as a spare")
      return (holder, spare)
    }

    /// Has many devices post at the same time, one post after another each.
    ///
    /// - Returns: The paths of those that were accepted, in each device's order.
    private func post(
      _ rounds: Range<Int>, by devices: [Device], bytes: Int = 10
    ) async throws -> Set<[String]> {
      let body = String(repeating: "x", count: bytes)
      return try await withThrowingTaskGroup(of: [String].self) { group in
        for device in devices {
          group.addTask {
            var paths: [String] = []
            for round in rounds {
              let path = "/\(device.name)/\(round)"
              let posted = try await device.post(["path": path, "key": path, "body": body])
              try posted.require(202)
              paths.append(path)
            }
            return paths
          }
        }
        return try await group.reduce(into: []) { $0.insert($1) }
      }
    }

    private func devices(at relay: Relay) -> [Device] {
      (1...24).map { Device("device-\($0)", port: relay.port(of: 0)) }
    }

    /// Posts until some have gone together.
    ///
    /// - Returns: The paths, in each device's order.
    private func postTogether(
      by devices: [Device], to holder: Relay, bytes: Int = 10
    ) async throws -> Set<[String]> {
      var all: [String: [String]] = [:]
      var round = 0
      try await eventually("posts that go together") {
        for paths in try await post(round * 5..<(round + 1) * 5, by: devices, bytes: bytes) {
          all[String(paths[0].dropFirst().prefix { $0 != "/" }), default: []] += paths
        }
        round += 1
        return holder.log.contains("/v1/passed") ? true : nil
      }
      return Set(all.values)
    }

    /// The paths at the upstream by device, in the order of their first attempts.
    private func arrived(_ count: Int) async throws -> Set<[String]> {
      let received = try await upstream.received("all") { received in
        Set(received.map(\.target)).count == count
      }
      var seen: Set<String> = []
      let firsts = received.map(\.target).filter { seen.insert($0).inserted }
      let groups = Dictionary(grouping: firsts) { $0.dropFirst().prefix { $0 != "/" } }
      return Set(groups.values)
    }

    @Test("each is stored, answered, written down and delivered in its order")
    func together() async throws {
      let (holder, spare) = try await startBoth()
      let posted = try await postTogether(by: devices(at: spare), to: holder)
      let count = posted.reduce(0) { $0 + $1.count }
      #expect(try await arrived(count) == posted)
      let token = Credentials.read
      let figures = try await Device("device-1", port: spare.port(of: 0), token: token).get(
        "/metrics")
      let text = String(decoding: figures.body, as: UTF8.self)
      #expect(text.contains(#"waystation_passed_requests_total{outcome="answered"} \#(count)"#))
      let path = #""path":"/v1/envelopes""#
      let lines = try await eventually("all lines of the access log") { () -> [Substring]? in
        let lines = holder.log.split(separator: "\n").filter { $0.contains(path) }
        return lines.count == count ? lines : nil
      }
      for line in lines {
        #expect(line.contains("passedOnBy") && line.contains(#""status":202"#), "\(line)")
      }
    }

    @Test("one that is refused leaves the others alone")
    func refused() async throws {
      let (holder, spare) = try await startBoth()
      let devices = devices(at: spare)
      try await eventually("a refusal among others") {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (number, device) in devices.enumerated() {
            group.addTask {
              let json = number.isMultiple(of: 3) ? "{" : #"{"client":"c","path":"/\#(number)"}"#
              let answer = try await device.post(json: Array(json.utf8))
              #expect(answer.status == (number.isMultiple(of: 3) ? 400 : 202), "\(answer)")
              if answer.status == 400 { #expect(answer.problem == "malformed-json") }
            }
          }
          try await group.waitForAll()
        }
        return holder.log.contains("/v1/passed") ? true : nil
      }
    }

    @Test("one whose body is too large is refused among others as it is by itself")
    func tooLarge() async throws {
      let (holder, spare) = try await startBoth(limits: ["bodyBytesMax": 2_000])
      let devices = devices(at: spare)
      try await eventually("a refusal among others") {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (number, device) in devices.enumerated() {
            group.addTask {
              let isLarge = number.isMultiple(of: 3)
              let body = String(repeating: "x", count: isLarge ? 3_000 : 10)
              let answer = try await device.relay("POST", "/\(number)", body: Array(body.utf8))
              #expect(answer.status == (isLarge ? 413 : 202), "\(answer)")
              if isLarge { #expect(answer.problem == "body-too-large") }
            }
          }
          try await group.waitForAll()
        }
        return holder.log.contains("/v1/passed") ? true : nil
      }
    }

    /// Has every third of many devices post with so many fields more, until some go together.
    ///
    /// - Returns: The statuses of those, and of the others.
    private func postWithFields(
      _ count: Int, at spare: Relay, until isDone: () -> Bool
    ) async throws -> (many: Set<Int>, few: Set<Int>) {
      let fields = Dictionary(uniqueKeysWithValues: (0..<count).map { ("X-\($0)", "x") })
      var (many, few): (Set<Int>, Set<Int>) = ([], [])
      let devices = devices(at: spare)
      try await eventually("posts that go together") {
        try await withThrowingTaskGroup(of: (Bool, Int).self) { group in
          for (number, device) in devices.enumerated() {
            let hasMany = number.isMultiple(of: 3)
            group.addTask {
              let answer = try await device.post(["path": "/x"], headers: hasMany ? fields : [:])
              return (hasMany, answer.status)
            }
          }
          for try await (hasMany, status) in group {
            if hasMany { many.insert(status) } else { few.insert(status) }
          }
        }
        return isDone() ? true : nil
      }
      return (many, few)
    }

    @Test("one that the other relay refuses for its fields is refused by itself")
    func fields() async throws {
      // It takes 33 fields, and the spare takes far more.
      let (holder, spare) = try await startBoth(limits: ["headerCountMax": 1])
      let found = try await postWithFields(40, at: spare) {
        holder.log.contains(#""path":"/v1/passed","protocol":"HTTP/1.1","status":400"#)
      }
      #expect(found.many == [431] && found.few == [202])
    }

    @Test("batches and what is packed go by themselves: their answers may be long")
    func batches() async throws {
      let (holder, spare) = try await startBoth()
      let devices = devices(at: spare)
      let batch = try Device.json((0..<20).map { ["client": "c", "path": "/\($0)"] })
      try await eventually("posts that go together") {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (number, device) in devices.enumerated() {
            group.addTask {
              guard number.isMultiple(of: 3) else {
                return try await device.post(["path": "/one"]).require(202)
              }
              try await device.post(json: batch).require(202)
            }
          }
          try await group.waitForAll()
        }
        return holder.log.contains("/v1/passed") ? true : nil
      }
      // Each line of a bundle's own says how long its answer was, and so does that of a batch.
      for line in holder.log.split(separator: "\n") where line.contains("envelopeCount") {
        #expect(!line.contains(#""path":"/v1/passed""#) && line.contains(#""tls":"#), "\(line)")
      }
    }

    @Test("one with very many fields goes by itself")
    func manyFields() async throws {
      let (holder, spare) = try await startBoth()
      let found = try await postWithFields(100, at: spare) { holder.log.contains("/v1/passed") }
      #expect(found.many == [202] && found.few == [202])
      #expect(!holder.log.contains(#""path":"/v1/passed","protocol":"HTTP/1.1","status":400"#))
    }

    @Test(
      "a relay of an older release, which knows no bundles, gets each post by itself",
      .enabled(if: TestNginx.isThere, "nginx is not installed"))
    func apart() async throws {
      let port = try ReservedPort.kept()
      let pair = try await authority.sign("relay-1", subject: "/CN=relay-1")
      let authority = authority.certificate
      // What stands between the two answers as such a relay would.
      let older = try await TestNginx { _, own in
        """
        server {
          listen 127.0.0.1:\(own) ssl; client_max_body_size 0; access_log off;
          ssl_certificate \(pair.certificate); ssl_certificate_key \(pair.key);
          ssl_client_certificate \(authority); ssl_verify_client on;
          location = /v1/passed { return 404; }
          location / {
            proxy_pass https://127.0.0.1:\(port); proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_ssl_certificate \(pair.certificate); proxy_ssl_certificate_key \(pair.key);
          }
        }
        """
      }
      let (holder, spare) = try await startBoth(at: port, reachedBy: older.port)
      let posted = try await post(0..<8, by: devices(at: spare))
      #expect(try await arrived(24 * 8) == posted)
      #expect(holder.log.contains("passedOnBy") && !holder.log.contains("/v1/passed"))
      try await older.stop()
    }

    @Test("none of a bundle is begun if one of it cannot be read")
    func malformed() async throws {
      let holder = try await startBoth().0
      let pair = try await authority.sign("tester", subject: "/CN=tester")
      let tunnel = try SecureTunnel(
        port: holder.port(of: 1), trusting: authority.certificate,
        ["-cert", pair.certificate, "-key", pair.key])
      let origin = Data(#"{"listener":0,"peer":"127.0.0.1:9"}"#.utf8).base64EncodedString()
      func post(_ path: String, _ more: String = "") -> String {
        let json = #"{"client":"c","path":"\#(path)"}"#
        return "POST /v1/envelopes HTTP/1.1\r\nHost: relay\r\nContent-Type: application/json\r\n"
          + "\(more)Content-Length: \(json.utf8.count)\r\n\r\n\(json)"
      }
      let passed = "Waystation-Passed: \(origin)\r\n"
      for last in ["POST /v1/env", "GET / HTTP/1.1\r\n\r\n", "\r\n\r\n\r\n\r\n\r\n\r\n"] {
        let refused = try await tunnel.request(
          "POST", "/v1/passed", body: Array((post("/1", passed) + last).utf8))
        #expect(refused.status == 400 && refused.problem == "malformed-request", "\(refused)")
      }
      // One that no relay has passed on is refused by itself.
      let answer = try await tunnel.request(
        "POST", "/v1/passed", body: Array((post("/2", passed) + post("/3")).utf8))
      let text = String(decoding: answer.body, as: UTF8.self)
      #expect(answer.status == 200 && answer["Content-Type"] == "application/http")
      #expect(text.hasPrefix("HTTP/1.1 202 ") && text.contains("HTTP/1.1 404 "), "\(text)")
      let inner = post("/4", passed)
      let length = "Content-Length: \(inner.utf8.count)\r\n\r\n"
      let nested = "POST /v1/passed HTTP/1.1\r\nHost: relay\r\n" + length + inner
      let none = try await tunnel.request("POST", "/v1/passed", body: Array(nested.utf8))
      #expect(String(decoding: none.body, as: UTF8.self).hasPrefix("HTTP/1.1 404 "), "\(none)")
      try await upstream.received(count: 1)
      #expect(upstream.received.map(\.target) == ["/2"])
    }
  }
}
#endif

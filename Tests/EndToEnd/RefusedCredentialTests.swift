import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("What ends a refusal of the relay's own credentials", .serialized, .ofNoStore)
  struct RefusedCredentials {
    private typealias Settings = [String: any Sendable]

    /// So long that no probe comes by itself within a test.
    private static let hour = 3_600_000

    private static func need(of relay: Relay, count: Int) async throws -> [String: Any] {
      try await eventually("a need") {
        let status = try await relay.device("operator").get("/status")
        let needs = try status.json()["needs"] as? [[String: Any]]
        return needs?.first {
          $0["kind"] as? String == "credentials-refused" && $0["count"] as? Int == count
        }
      }
    }

    private static func delivered(_ relay: Relay, _ count: Int) async throws {
      try await eventually("\(count) delivered", seconds: 60) {
        let store = try await relay.device().get("/status").json()["store"] as? [String: Any]
        return (store?["envelopes"] as? [String: Int])?["delivered"] == count ? true : nil
      }
    }

    private static func post(_ count: Int, to relay: Relay) async throws {
      let posts: [Settings] = (0..<count).map {
        ["client": "d-\($0 % 5)", "lane": "l-\($0 % 2)", "path": "/\($0)", "onFailure": "skip"]
      }
      #expect(try await relay.device("poster").post(batch: posts).status == 202)
    }

    @Test("once the secret's file is mended, a reload has all go on at once, probe or no probe")
    func secretFile() async throws {
      let folder = try TemporaryFolder()
      let file = try folder.write("secret", "wrong\n")
      let stand = try TokenStand(
        lifetimeSeconds: 3600, secret: "${file:\(file)}", probeDelaysMs: (Self.hour, Self.hour))
      try await stand.relay.start()
      try await Self.post(20, to: stand.relay)
      _ = try await Self.need(of: stand.relay, count: 20)
      // A probe with the old secret is under way when the new one comes into force.
      let isHeld = Monitor(true)
      stand.server.behave { request in
        let wrong = Data("relay%20one:wrong".utf8).base64EncodedString()
        guard request["Authorization"] == "Basic \(wrong)" else {
          let token = #"{"access_token": "abcdefgh", "token_type": "bearer"}"#
          return .answer(200, body: Array(token.utf8))
        }
        _ = isHeld.block(seconds: 20) { $0 ? nil : true }
        return .answer(401)
      }
      stand.service.behave { _ in .answer(200) }
      let count = stand.server.received.count
      _ = try await stand.relay.device().request("POST", "/v1/upstreams/default/probe")
      _ = try await stand.server.received(count: count + 1)
      try TokenStand.secret.write(toFile: file, atomically: true, encoding: .utf8)
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: #""event":"configuration reloaded""#)
      // Only the probe's own lane, which has two, waits for its end.
      try await Self.delivered(stand.relay, 18)
      isHeld.change { $0 = false }
      try await Self.delivered(stand.relay, 20)
    }

    @Test("the commands that status prints for it work as they are, and say what is so")
    func commands() async throws {
      let stand = try TokenStand(
        lifetimeSeconds: 3600, secret: "wrong", probeDelaysMs: (Self.hour, Self.hour))
      try await stand.relay.start()
      try await Self.post(6, to: stand.relay)
      _ = try await Self.need(of: stand.relay, count: 6)
      let url = "http://127.0.0.1:\(stand.relay.port)"
      let status = try await Waystation.run("status", "--server", url)
      let commands = status.output.split(separator: "\n")
        .map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { $0.hasPrefix("waystation ") }
      #expect(
        commands
          == ["try", "probe", "pause"].map {
            "waystation upstreams \($0) default --server \(url)"
          }, "\(status.output)")
      try #require(commands.count == 3)
      let folder = (Waystation.path as NSString).deletingLastPathComponent
      func pasted(_ command: String) async throws -> (ending: Ending, output: String) {
        let shell = try ChildProcess("/bin/sh", ["-c", "PATH='\(folder)':$PATH; \(command)"])
        return (try await shell.ending(), shell.output)
      }
      let bad = try await pasted(commands[0])
      #expect(bad.ending == .exit(1) && bad.output.contains("invalid_client"), "\(bad)")
      #expect(try await pasted(commands[2]).ending == .exit(0))
      _ = try await pasted("waystation upstreams resume default --server \(url)")
      #expect(try await pasted(commands[1]).ending == .exit(0))
      _ = try await Self.need(of: stand.relay, count: 6)
      // The server is mended, a moment after it has refused the last request for a token.
      stand.server.behave { _ in
        .answer(200, body: Array(#"{"access_token": "abcdefgh", "token_type": "bearer"}"#.utf8))
      }
      stand.service.behave { _ in .answer(200) }
      #expect(try await pasted(commands[1]).ending == .exit(0))
      try await Self.delivered(stand.relay, 6)
      let good = try await pasted(commands[0])
      #expect(good.ending == .exit(0) && good.output.contains("answered 200"), "\(good)")
    }

    @Test("a trial that shows that they are accepted again has what waits go on at once")
    func trial() async throws {
      let stand = try TokenStand(
        lifetimeSeconds: 3600, secret: "wrong", probeDelaysMs: (Self.hour, Self.hour))
      try await stand.relay.start()
      try await Self.post(6, to: stand.relay)
      _ = try await Self.need(of: stand.relay, count: 6)
      stand.server.behave { _ in
        .answer(200, body: Array(#"{"access_token": "abcdefgh", "token_type": "bearer"}"#.utf8))
      }
      stand.service.behave { _ in .answer(200) }
      let tried = try await stand.relay.device().request("POST", "/v1/upstreams/default/try")
      #expect(try tried.json()["works"] as? Bool == true, "\(tried)")
      try await Self.delivered(stand.relay, 6)
    }

    @Test(
      "a token that another relay has revoked refuses no envelope: all arrive with the next one")
    func revokedToken() async throws {
      let upstream = try TestUpstream()
      let hub = try await Relay.guarded(upstream)
      let old = try await hub.token(["role": "steer"])
      let folder = try TemporaryFolder()
      let file = try folder.write("token", old.text)
      let edge = try Relay(upstreams: ["default": try Self.settings(hub, token: file)])
      try await edge.start()
      try await Self.post(10, to: edge)
      _ = try await upstream.received(count: 10)
      #expect(try await hub.steering.request("DELETE", "/v1/tokens/\(old.id)").status == 204)
      try await Self.post(30, to: edge)
      // One that goes by itself, since it is too large to go with others.
      let large = [UInt8](repeating: 0x5A, count: 600_000)
      let put = try await edge.device("cam-1").relay("PUT", "/photo", body: large)
      #expect(put.status == 202)
      let need = try await Self.need(of: edge, count: 31)
      let cause = try #require(need["cause"] as? String)
      let authority = "127.0.0.1:\(hub.port)"
      #expect(
        cause.hasPrefix(
          "\(authority) refused the relay's token: it answered 401 (The token is not "))
      let tried = try await edge.device().request("POST", "/v1/upstreams/default/try").json()
      #expect(tried["works"] as? Bool == false, "\(tried)")
      // The probe may be of any of them.
      for _ in 0..<8 {
        _ = try await edge.device().request("POST", "/v1/upstreams/default/probe")
      }
      #expect(try await Self.counts(edge)["failed"] ?? 0 == 0)
      let new = try await hub.token(["role": "steer"])
      try new.text.write(toFile: file, atomically: true, encoding: .utf8)
      edge.signal(SIGHUP)
      try await Self.delivered(edge, 41)
      let requests = try await upstream.received(count: 41)
      #expect(Set(requests.map(\.target)).count == 31)
      #expect(requests.contains { $0.target == "/photo" && $0.body == large })
      #expect(!(edge.log + hub.log).contains(new.text))
    }

    @Test(
      "one that goes by itself waits as well, and holds up the rest, while the token is refused")
    func alone() async throws {
      let upstream = try TestUpstream()
      let hub = try await Relay.guarded(upstream)
      let folder = try TemporaryFolder()
      let file = try folder.write(
        "token", "wst_0000000000000000_" + String(repeating: "0", count: 64))
      let edge = try Relay(upstreams: ["default": try Self.settings(hub, token: file)])
      try await edge.start()
      let large = [UInt8](repeating: 0x5A, count: 600_000)
      #expect(try await edge.device("cam-1").relay("PUT", "/photo", body: large).status == 202)
      _ = try await Self.need(of: edge, count: 1)
      #expect(try await Self.counts(edge)["failed"] ?? 0 == 0)
      // Who may look and not post is refused as well.
      try Credentials.read.write(toFile: file, atomically: true, encoding: .utf8)
      edge.signal(SIGHUP)
      let forbidden = try await eventually("another cause") {
        let need = try await Self.need(of: edge, count: 1)
        return (need["cause"] as? String).flatMap { $0.contains("answered 403") ? $0 : nil }
      }
      #expect(forbidden.hasSuffix("it answered 403 (This token does not allow the call.)"))
      try Credentials.steer.write(toFile: file, atomically: true, encoding: .utf8)
      edge.signal(SIGHUP)
      try await Self.delivered(edge, 1)
      #expect(try await upstream.received(count: 1)[0].body == large)
    }

    @Test("a token of one client has the others' envelopes wait in their lanes, and its own arrive")
    func oneClient() async throws {
      let upstream = try TestUpstream()
      let hub = try await Relay.guarded(upstream)
      let own = try await hub.token(["client": "d-1"])
      let folder = try TemporaryFolder()
      let file = try folder.write("token", own.text)
      let edge = try Relay(upstreams: ["default": try Self.settings(hub, token: file)])
      try await edge.start()
      try await Self.post(20, to: edge)
      _ = try await upstream.received(count: 4)
      try await Self.delivered(edge, 4)
      #expect(try await Self.counts(edge)["failed"] ?? 0 == 0)
      try Credentials.steer.write(toFile: file, atomically: true, encoding: .utf8)
      edge.signal(SIGHUP)
      try await Self.delivered(edge, 20)
    }

    private static func counts(_ relay: Relay) async throws -> [String: Int] {
      let store = try await relay.device().get("/status").json()["store"] as? [String: Any]
      return store?["envelopes"] as? [String: Int] ?? [:]
    }

    /// The settings of an upstream that is another relay, and knows this one by a token in a file.
    private static func settings(_ next: Relay, token file: String) throws -> Settings {
      let credentials: Settings = ["kind": "bearer", "token": "${file:\(file)}"]
      return [
        "url": "http://127.0.0.1:\(next.port)", "credentials": credentials,
        "batch": ["format": "waystation", "itemsMax": 40] as Settings,
        "retry": ["firstDelayMs": 20, "maxDelayMs": 200] as Settings,
        "reachability": ["firstProbeDelayMs": hour, "maxProbeDelayMs": hour] as Settings,
      ]
    }
  }
}

import Foundation
import Glibc
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite("Receipts' keys", .serialized)
  struct ReceiptKeys {
    /// A relay whose keys lie in a folder of the test's own.
    private struct Stand {
      let folder: TemporaryFolder
      let relay: Relay
      var keys: String { folder.path + "/keys" }
      var configuration: String { relay.folder.path + "/config.json" }

      init(started: Bool = true) async throws {
        folder = try TemporaryFolder()
        relay = try Relay(
          upstreams: ["default": Relay.quick(try TestUpstream())],
          more: Self.receipts(folder.path + "/keys"))
        if started { try await relay.start() }
      }

      static func receipts(_ keys: String) -> [String: any Sendable] {
        ["receipts": ["issuer": "https://relay.example", "keys": keys] as [String: any Sendable]]
      }

      /// What `waystation keys` says of the same configuration.
      func run(
        _ action: String
      ) async throws -> (ending: Ending, output: String, errors: String) {
        try await Waystation.run("keys", action, "--config", configuration)
      }

      /// The keys that the relay shows.
      func shown() async throws -> [[String: Any]] {
        let answer = try await relay.device().get("/.well-known/waystation/keys")
        try answer.require(200)
        return try #require(try answer.json()["keys"] as? [[String: Any]])
      }

      var files: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: keys)) ?? []).sorted()
      }
    }

    private func kid(_ key: [String: Any]) -> String { key["kid"] as? String ?? "" }

    @Test("a start makes the first key, and shows it to everybody; the next start has the same one")
    func start() async throws {
      let stand = try await Stand()
      let answer = try await stand.relay.device().get("/.well-known/waystation/keys")
      #expect(answer.status == 200 && answer["Content-Type"] == "application/jwk-set+json")
      #expect(answer["Cache-Control"] == "max-age=300")
      let keys = try await stand.shown()
      let key = try #require(keys.first)
      #expect(
        Set(key.keys) == ["kty", "crv", "x", "kid", "use", "alg", "nbf"] && keys.count == 1)
      #expect(key["kty"] as? String == "OKP" && key["crv"] as? String == "Ed25519")
      #expect(key["use"] as? String == "sig" && key["alg"] as? String == "EdDSA")
      #expect(stand.files == ["\(kid(key)).pem", "ring.json"].sorted())
      try await stand.relay.log(holds: "a first key for receipts was made")
      try await stand.relay.kill()
      try await stand.relay.start()
      #expect(try await stand.shown().map(kid) == [kid(key)])
    }

    @Test("a relay whose keys are gone, and whose store has receipts, warns of its new ones")
    func replaced() async throws {
      let stand = try await Stand()
      let posted = try await stand.relay.device().post(
        ["path": "/x", "lane": "l", "sequence": 1, "key": "k"])
      #expect(posted.status == 202)
      try await stand.relay.kill()
      try FileManager.default.removeItem(atPath: stand.keys)
      try await stand.relay.start()
      try await stand.relay.log(holds: "new keys for receipts were made, though the store has")
      let first = kid(try #require(try await stand.shown().first))
      let status = try await stand.relay.device().get("/status").json()
      let needs = try #require(status["needs"] as? [[String: Any]])
      let need = try #require(needs.first { $0["kind"] as? String == "receipt-keys-new" })
      #expect((need["cause"] as? String)?.contains(first) == true, "\(need)")
      // A key that the new ones lead to is as strange to devices as they are.
      #expect(try await stand.run("rotate").ending == .exit(0))
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: #""changed":"receipts""#)
      let later = try await stand.relay.device().get("/status").json()["needs"] as? [[String: Any]]
      #expect(later?.contains { $0["kind"] as? String == "receipt-keys-new" } == true)
    }

    /// Whether the relay says that devices may not know its keys.
    private func areNew(_ stand: Stand) async throws -> Bool {
      let status = try await stand.relay.device().get("/status").json()
      let needs = try #require(status["needs"] as? [[String: Any]])
      return needs.contains { $0["kind"] as? String == "receipt-keys-new" }
    }

    @Test("that devices may not know the keys outlasts starts and rotations, until it is accepted")
    func accepted() async throws {
      let stand = try await Stand()
      let posted = try await stand.relay.device().post(
        ["path": "/x", "lane": "l", "sequence": 1, "key": "k"])
      #expect(posted.status == 202)
      try await stand.relay.kill()
      let former = stand.folder.path + "/former"
      try FileManager.default.moveItem(atPath: stand.keys, toPath: former)
      for _ in 0..<2 {
        try await stand.relay.start()
        #expect(try await areNew(stand))
        try await stand.relay.kill()
      }
      #expect(try await stand.run("rotate").ending == .exit(0))
      try await stand.relay.start()
      #expect(try await areNew(stand))
      let listed = try await stand.run("list")
      #expect(listed.output.contains("devices may not know these keys"), "\(listed)")
      let accepted = try await stand.run("accept")
      #expect(accepted.ending == .exit(0) && accepted.output.contains("SIGHUP"), "\(accepted)")
      #expect(try await areNew(stand))
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: #""changed":"receipts""#)
      #expect(try await !areNew(stand))
      try await stand.relay.kill()
      try await stand.relay.start()
      #expect(try await !areNew(stand))
      let again = try await stand.run("accept")
      #expect(again.ending == .exit(0) && again.output.contains("there was no doubt"), "\(again)")
    }

    @Test("the need is over once the former folder is back in its place")
    func putBack() async throws {
      let stand = try await Stand()
      _ = try await stand.relay.device().post(
        ["path": "/x", "lane": "l", "sequence": 1, "key": "k"])
      try await stand.relay.kill()
      let former = stand.folder.path + "/former"
      try FileManager.default.moveItem(atPath: stand.keys, toPath: former)
      try await stand.relay.start()
      #expect(try await areNew(stand))
      try await stand.relay.kill()
      try FileManager.default.removeItem(atPath: stand.keys)
      try FileManager.default.moveItem(atPath: former, toPath: stand.keys)
      try await stand.relay.start()
      #expect(try await !areNew(stand))
    }

    @Test(
      "another ring by a reload is new over restarts, and the former one is not, once it is back")
    func renamed() async throws {
      let stand = try await Stand()
      let upstreams = ["default": Relay.quick(try TestUpstream())]
      let other = stand.folder.path + "/other"
      try stand.relay.configure(upstreams: upstreams, more: Stand.receipts(other))
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: #""generation":2"#)
      #expect(try await areNew(stand))
      try stand.relay.configure(upstreams: upstreams, more: Stand.receipts(stand.keys))
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: #""generation":3"#)
      #expect(try await !areNew(stand))
      try stand.relay.configure(upstreams: upstreams, more: Stand.receipts(other))
      try await stand.relay.kill()
      try await stand.relay.start()
      #expect(try await areNew(stand))
    }

    @Test("keys in a data folder are listed without a configuration, and its upstreams", .ofFiles)
    func unconfigured() async throws {
      let relay = try await Relay.started(
        try TestUpstream(),
        more: ["receipts": ["issuer": "https://relay.example"] as [String: any Sendable]])
      let shown = try await relay.device().get("/.well-known/waystation/keys").json()
      let keys = try #require(shown["keys"] as? [[String: Any]])
      let data = relay.folder.path + "/data"
      let listed = try await Waystation.run("keys", "list", "--data", data)
      #expect(listed.ending == .exit(0) && listed.output.contains(kid(keys[0])), "\(listed)")
      let none = try await Waystation.run("keys", "list", "--data", relay.folder.path)
      #expect(none.ending == .exit(0) && none.output.contains("holds no keys yet"), "\(none)")
      let rotated = try await Waystation.run("keys", "rotate", "--data", data)
      #expect(rotated.ending == .exit(0), "\(rotated)")
    }

    @Test("a relay without receipts has no keys, and says so")
    func none() async throws {
      let relay = try await Relay.started(try TestUpstream())
      let answer = try await relay.device().get("/.well-known/waystation/keys")
      #expect(answer.status == 404)
      #expect(try answer.json()["type"] as? String == "urn:waystation:problem:not-found")
      let listed = try await Waystation.run(
        "keys", "list", "--config", relay.folder.path + "/config.json")
      #expect(listed.ending == .exit(1) && listed.errors.contains("no \"receipts\""), "\(listed)")
    }

    @Test("a rotated key comes into use by a SIGHUP, and the one before it has signed it")
    func rotation() async throws {
      let stand = try await Stand()
      let first = try #require(try await stand.shown().first)
      let done = try await stand.run("rotate")
      #expect(done.ending == .exit(0) && done.output.contains("SIGHUP"), "\(done)")
      #expect(try await stand.shown().map(kid) == [kid(first)])
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: #""changed":"receipts""#)
      let keys = try await stand.shown()
      try #require(keys.count == 2 && kid(keys[0]) == kid(first))
      #expect(keys[0]["exp"] as? Int == keys[1]["nbf"] as? Int && keys[1]["exp"] == nil)
      #expect(stand.files == ["\(kid(keys[1])).pem", "ring.json"].sorted())
      let endorsement = try #require(keys[1]["endorsement"] as? String)
      let parts = endorsement.split(separator: ".").map(String.init)
      #expect(try await isSigned(parts, by: first, in: stand.folder))
      #expect(try await !isSigned(parts, by: keys[1], in: stand.folder))
      let header = try #require(Data(base64URL: parts[0]))
      #expect(
        String(decoding: header, as: UTF8.self)
          == #"{"alg":"EdDSA","kid":"\#(kid(first))","typ":"waystation-key+jws"}"#)
      let signed = try #require(Data(base64URL: parts[1]))
      #expect(
        String(decoding: signed, as: UTF8.self)
          == #"{"crv":"Ed25519","kty":"OKP","x":"\#(keys[1]["x"] as? String ?? "")"}"#)
      // A second SIGHUP finds nothing new.
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: "nothing has changed")
      let listed = try await stand.run("list")
      let lines = listed.output.split(separator: "\n")
      try #require(lines.count == 3)
      #expect(lines[1].hasPrefix(kid(first)) && lines[1].contains("the first one"))
      #expect(lines[2].hasPrefix(kid(keys[1])) && lines[2].hasSuffix(kid(first)))
      #expect(lines[2].contains("present"))
    }

    @Test(
      "a damaged ring ends a start, and is refused by a reload and by a rotation, with its file")
    func damaged() async throws {
      let stand = try await Stand()
      let before = try await stand.shown().map(kid)
      let ring = stand.keys + "/ring.json"
      let whole = try String(contentsOfFile: ring, encoding: .utf8)
      try whole.dropLast(10).write(toFile: ring, atomically: false, encoding: .utf8)
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: "configuration not reloaded")
      #expect(stand.relay.log.contains("receipts.keys: \(ring): is damaged"))
      #expect(try await stand.shown().map(kid) == before)
      let rotated = try await stand.run("rotate")
      #expect(rotated.ending == .exit(1) && rotated.errors.contains("\(ring): is damaged"))
      let checked = try await Waystation.run(
        "check", "--config", stand.configuration)
      #expect(checked.ending == .exit(1) && checked.errors.contains("\(ring): is damaged"))
      try await stand.relay.kill()
      try stand.relay.begin()
      #expect(try await stand.relay.ending() == .exit(1))
      #expect(stand.relay.log.contains("\(ring): is damaged"), "\(stand.relay.log)")
      try whole.write(toFile: ring, atomically: false, encoding: .utf8)
      try await stand.relay.start()
      #expect(try await stand.shown().map(kid) == before)
    }

    @Test("keys that vanish beside a running relay are missed by a reload, and not made anew")
    func gone() async throws {
      let stand = try await Stand()
      let before = try await stand.shown().map(kid)
      try FileManager.default.removeItem(atPath: stand.keys)
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: "the keys in use are gone from there")
      #expect(try await stand.shown().map(kid) == before && stand.files.isEmpty)
    }

    @Test("receipts that a reload brings get their first key then, and without them it is gone")
    func reloaded() async throws {
      let stand = try await Stand()
      let upstreams = ["default": Relay.quick(try TestUpstream())]
      try stand.relay.configure(upstreams: upstreams)
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: "configuration reloaded")
      #expect(
        try await stand.relay.device().get("/.well-known/waystation/keys").status == 404)
      let other = stand.folder.path + "/other"
      try stand.relay.configure(upstreams: upstreams, more: Stand.receipts(other))
      stand.relay.signal(SIGHUP)
      try await stand.relay.log(holds: #""generation":3"#)
      let keys = try await stand.shown()
      #expect(keys.count == 1)
      #expect(FileManager.default.fileExists(atPath: "\(other)/\(kid(keys[0])).pem"))
    }

    @Test(
      "the keys lie in the data folder by default, which stays a sound store, and in no backup",
      .ofFiles)
    func dataFolder() async throws {
      let relay = try await Relay.started(
        try TestUpstream(),
        more: ["receipts": ["issuer": "https://relay.example"] as [String: any Sendable]])
      _ = try await relay.device().post(["path": "/a"])
      let data = relay.folder.path + "/data"
      #expect(FileManager.default.fileExists(atPath: data + "/receipt-keys/ring.json"))
      let copy = relay.folder.path + "/copy"
      let made = try await Waystation.run("store", "backup", "--data", data, "--to", copy)
      #expect(made.ending == .exit(0), "\(made)")
      #expect(made.output.contains("put receipt-keys of that folder into it, and start"), "\(made)")
      #expect(!FileManager.default.fileExists(atPath: copy + "/receipt-keys"))
      let copied = try FileManager.default.subpathsOfDirectory(atPath: copy)
      #expect(copied.allSatisfy { !$0.hasSuffix(".pem") && !$0.hasSuffix(".json") }, "\(copied)")
      let checked = try await Waystation.run("store", "check", "--data", data)
      #expect(checked.ending == .exit(0), "\(checked)")
      // A folder that is packed whole, as for another machine, brings them along.
      let before = try await relay.device().get("/.well-known/waystation/keys").text
      relay.signal(SIGTERM)
      try await relay.ending()
      let moved = try Relay(
        upstreams: ["default": Relay.quick(try TestUpstream())],
        more: [
          "data": relay.folder.path + "/moved",
          "receipts": ["issuer": "https://relay.example"] as [String: any Sendable],
        ])
      try FileManager.default.copyItem(atPath: data, toPath: relay.folder.path + "/moved")
      try await moved.start()
      #expect(try await moved.device().get("/.well-known/waystation/keys").text == before)
    }

    #if PostgreSQL
    @Test(
      "a spare without keys says so, and one that was brought the ring signs on with it",
      .ofDatabases, .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
    func spare() async throws {
      let folder = try TemporaryFolder()
      let variables = ["WAYSTATION_POSTGRES_URL": try TestDatabase.fresh().url]
      let upstreams = ["default": Relay.quick(try TestUpstream())]
      let relays = try ["one", "two"].map { name in
        try Relay(
          upstreams: upstreams, more: Stand.receipts("\(folder.path)/\(name)"),
          environment: variables)
      }
      try await relays[0].start()
      try await relays[0].log(holds: "bring its folder to the other relays of this store")
      let before = try await relays[0].device().get("/.well-known/waystation/keys").text
      try relays[1].begin()
      try await relays[1].log(holds: "this spare has no keys for receipts")
      try FileManager.default.copyItem(
        atPath: folder.path + "/one", toPath: folder.path + "/two")
      try await relays[0].kill()
      try await relays[1].listens()
      let after = try await relays[1].device().get("/.well-known/waystation/keys").text
      #expect(after == before)
    }
    #endif

    // MARK: - Verifying, by openssl

    private func isSigned(
      _ parts: [String], by key: [String: Any], in folder: TemporaryFolder
    ) async throws -> Bool {
      try #require(parts.count == 3)
      // RFC 8410 section 4.
      let prefix: [UInt8] = [0x30, 0x2A, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 3, 0x21, 0]
      let point = try #require((key["x"] as? String).flatMap { Data(base64URL: $0) })
      let (file, signature) = (folder.path + "/public.der", folder.path + "/signature")
      try Data(prefix + point).write(to: URL(fileURLWithPath: file))
      try #require(Data(base64URL: parts[2])).write(to: URL(fileURLWithPath: signature))
      let message = try folder.write("message", parts[0] + "." + parts[1])
      let check = try ChildProcess(
        "openssl",
        [
          "pkeyutl", "-verify", "-rawin", "-pubin", "-keyform", "DER", "-inkey", file,
          "-in", message, "-sigfile", signature,
        ])
      return try await check.ending() == .exit(0)
    }
  }
}

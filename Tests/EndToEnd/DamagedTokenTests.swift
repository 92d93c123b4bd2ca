import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Tokens of damaged stores", .serialized, .ofFiles)
  struct DamagedTokens {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try Relay(
        upstreams: ["default": Relay.quick(upstream)], more: Credentials.configuration,
        arguments: ["--set-aside-damaged"])
      try await relay.start()
    }

    private var data: String { relay.folder.path + "/data" }

    private func status(_ token: String?, _ target: String) async throws -> Int {
      try await relay.device("d", token: token).get(target).status
    }

    private func stop() async throws {
      relay.signal(SIGTERM)
      try await relay.ending()
    }

    /// Zeroes the first page in which a text stands.
    private func damage(_ text: String) throws {
      let path = URL(fileURLWithPath: data + "/waystation.sqlite3")
      var bytes = try Data(contentsOf: path)
      let place = try #require(bytes.range(of: Data(text.utf8)))
      let page = place.lowerBound / 8192 * 8192
      bytes.replaceSubrange(page..<page + 8192, with: Data(count: 8192))
      try bytes.write(to: path)
    }

    private func revoke(_ id: String) async throws {
      try await relay.steering.request("DELETE", "/v1/tokens/\(id)").require(204)
    }

    /// A token that is good, one that was revoked, and a key's that was revoked.
    private func tokens() async throws -> (good: String, gone: String, revoked: String) {
      let good = try await relay.token(["client": "till-1"])
      let gone = try await relay.token(["client": "till-1"])
      _ = try await relay.token(["role": "read"])
      try await revoke(gone.id)
      try await revoke("fleet.747275636b2d37")
      return (good.text, gone.text, Credentials.derived("truck-7"))
    }

    @Test("a store that is set aside leaves its tokens, and what was revoked, to the new one")
    func carried() async throws {
      let (good, gone, revoked) = try await tokens()
      try await stop()
      try damage("SQLite format 3")
      for _ in 0..<2 {
        try await relay.start()
        #expect(try await status(good, "/v1/clients/till-1") == 404)
        #expect(try await status(gone, "/v1/clients/till-1") == 401)
        #expect(try await status(revoked, "/v1/clients/truck-7") == 401)
        #expect(try await status(Credentials.derived("truck-8"), "/v1/clients/truck-8") == 404)
        try await relay.kill()
      }
      // Nothing is damaged any more, and so nothing was set aside.
      let names = try FileManager.default.contentsOfDirectory(atPath: data)
      #expect(names.count { $0.hasPrefix("damaged-") } == 1)
      try relay.configure(upstreams: ["default": Relay.quick(upstream)])
      try await relay.start()
      #expect(try await status(nil, "/status") == 401)
      #expect(try await status(good, "/v1/clients/till-1") == 404)
    }

    @Test("the log says how many tokens and revocations were carried over, and what was unreadable")
    func told() async throws {
      _ = try await tokens()
      try await stop()
      try damage("SQLite format 3")
      try await relay.start()
      try await relay.log(holds: #""tokens":2,"revocations":1,"unreadable":0"#)
    }

    @Test(
      "a revocation whose row cannot be read is known by the index, and unread rows are counted")
    func byIndex() async throws {
      let (good, _, revoked) = try await tokens()
      try await stop()
      try damage("fleet.747275636b2d37")
      try await relay.start()
      #expect(try await status(revoked, "/v1/clients/truck-7") == 401)
      // Its digest was lost with the page.
      #expect(try await status(good, "/v1/clients/till-1") == 401)
      try await relay.log(holds: #""tokens":0,"revocations":1,"unreadable":2"#)
    }

    @Test("a store of which nothing is left is not taken for one that anybody might use")
    func shut() async throws {
      _ = try await tokens()
      try await stop()
      try FileManager.default.removeItem(atPath: data + "/waystation.sqlite3")
      try relay.configure(upstreams: ["default": Relay.quick(upstream)])
      for _ in 0..<2 {
        try await relay.start()
        #expect(try await status(nil, "/status") == 401)
        #expect(try await relay.device("d").post(["path": "/x"]).status == 401)
        try await relay.log(holds: "nobody may use the relay")
        try await relay.kill()
      }
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)], more: ["access": ["anonymous": "allow"]])
      try await relay.start()
      #expect(try await status(nil, "/status") == 200)
    }

    @Test("a salvage keeps tokens and revocations, names what it cannot read, and opens nothing")
    func salvaged() async throws {
      let (good, gone, revoked) = try await tokens()
      try await stop()
      let new = relay.folder.path + "/new"
      let whole = try await Waystation.run("store", "salvage", "--data", data, "--to", new)
      #expect(whole.output.contains("2 tokens and 1 revoked"), "\(whole.output)")
      var more = Credentials.configuration
      more["data"] = new
      try relay.configure(upstreams: ["default": Relay.quick(upstream)], more: more)
      try await relay.start()
      #expect(try await status(good, "/v1/clients/till-1") == 404)
      #expect(try await status(gone, "/v1/clients/till-1") == 401)
      #expect(try await status(revoked, "/v1/clients/truck-7") == 401)
      try await stop()
      try damage("fleet.747275636b2d37")
      let other = relay.folder.path + "/other"
      let part = try await Waystation.run("store", "salvage", "--data", data, "--to", other)
      let id = try #require(good.split(separator: "_").dropFirst().first)
      #expect(part.output.contains("0 tokens and 1 revoked"), "\(part.output)")
      #expect(part.output.contains("not all of the tokens"))
      #expect(part.errors.contains("token \(id), client till-1"), "\(part.errors)")
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)], more: ["data": other])
      try await relay.start()
      #expect(try await status(nil, "/status") == 401)
    }
  }
}

import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("Who may end a request that goes on with an upload", .serialized)
  struct UploadTurns {
    private static let mebi = 1 << 20

    private let upstream: TestUpstream

    init() throws { upstream = try TestUpstream() }

    /// A request of which 5 MiB of 6 have come, and 4 are on disk.
    private func begun(
      _ sender: Uploader, _ location: String, _ photo: [UInt8]
    ) async throws -> Connection {
      try await sender.send(
        "PATCH", location, Uploader.appending(at: 0, completes: true), body: photo,
        part: 5 * Self.mebi, until: 4 * Self.mebi
      ).connection
    }

    private func finish(_ connection: Connection, _ photo: [UInt8]) async throws {
      let answer = try await onThread {
        try connection.write(Array(photo[(5 * Self.mebi)...]))
        return try connection.readResponse(to: "PATCH")
      }
      #expect(answer.status == 202, "\(answer)")
      #expect(try await upstream.received(count: 1).map(\.body) == [photo])
    }

    @Test("another client's call about an upload ends no request of its owner's")
    func stranger() async throws {
      let relay = try await Relay.guarded(upstream)
      let a = Uploader(relay, client: "a", token: try await relay.token(["client": "a"]).text)
      let b = Uploader(relay, client: "b", token: try await relay.token(["client": "b"]).text)
      let photo = Uploader.photo(6 * Self.mebi)
      let location = try await a.create("/p")
      let connection = try await begun(a, location, photo)
      #expect(try await b.state(location).status == 404)
      #expect(try await b.append(location, at: 0, completes: true, body: [1]).status == 404)
      #expect(try await b.send("DELETE", location)?.status == 404)
      try await finish(connection, photo)
    }

    @Test("an upload that a request is about does not expire, however old it is")
    func busy() async throws {
      let relay = try await Relay.started(upstream)
      let sender = Uploader(relay)
      let photo = Uploader.photo(6 * Self.mebi)
      let location = try await sender.create("/p")
      let idle = try await sender.create("/idle", body: [1])
      let connection = try await begun(sender, location, photo)
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)], more: ["retention": ["uploadSeconds": 0]])
      // A round of retention begins with each reload.
      relay.signal(SIGHUP)
      try await sender.forgotten(idle)
      try await finish(connection, photo)
    }
  }
}

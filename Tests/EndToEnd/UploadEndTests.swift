import Foundation
import Glibc
import Testing

extension EndToEnd {
  @Suite("What an upload that is given up leaves behind", .serialized, .ofFiles)
  struct UploadEnds {
    private let upstream: TestUpstream

    init() throws { upstream = try TestUpstream() }

    /// The files of bodies once there are so many.
    private func bodyFiles(_ relay: Relay, count: Int) async throws {
      let folder = relay.folder.path + "/data/bodies"
      try await eventually("\(count) files of bodies") {
        try FileManager.default.contentsOfDirectory(atPath: folder).count == count ? true : nil
      }
    }

    @Test("a pipe in the place of a body holds up nobody: the upload is lost")
    func pipe() async throws {
      let relay = try await Relay.started(upstream)
      let sender = Uploader(relay)
      let location = try await sender.create("/p", body: [1])
      let folder = relay.folder.path + "/data/bodies/"
      let file = folder + (try FileManager.default.contentsOfDirectory(atPath: folder)[0])
      try FileManager.default.removeItem(atPath: file)
      #expect(mkfifo(file, 0o600) == 0)
      let answer = try await sender.append(location, at: 1, completes: true, body: [2])
      #expect(answer.status == 404 && answer.problem == "unknown-upload", "\(answer)")
      let large = Uploader.photo(300_000)
      let post = ["Waystation-Client": "device-1"]
      let other = try await relay.device().request(
        "POST", "/v1/relay/default/large", headers: post, body: large)
      #expect(other.status == 202, "\(other)")
      #expect(try await upstream.received(count: 1).map(\.body) == [large])
    }

    @Test("no end of an upload leaves its bytes in the folder of bodies")
    func bodies() async throws {
      let relay = try await Relay.started(upstream)
      let sender = Uploader(relay)
      let device = relay.device()
      _ = try await device.request("POST", "/v1/clients/device-1/pause")

      let deleted = try await sender.create("/deleted", body: [1])
      try await bodyFiles(relay, count: 1)
      #expect(try await sender.send("DELETE", deleted)?.status == 204)
      try await bodyFiles(relay, count: 0)

      // SHA-256 of "abc" (FIPS 180-4).
      let digest = "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"
      let other = try await sender.create("/digest", ["Repr-Digest": digest], body: [1])
      #expect(try await sender.append(other, at: 1, completes: true, body: [2]).status == 422)
      try await bodyFiles(relay, count: 0)

      let long = try await sender.create("/long", ["Upload-Length": "2"], body: [1])
      let chunked =
        "PATCH \(long) HTTP/1.1\r\nHost: relay\r\nContent-Type: application/partial-upload\r\n"
        + "Upload-Offset: 1\r\nUpload-Complete: ?0\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "4\r\nabcd\r\n0\r\n\r\n"
      #expect(try await device.raw(Array(chunked.utf8), method: "PATCH").status == 400)
      try await bodyFiles(relay, count: 0)

      let taken = try await sender.create("/key", ["Idempotency-Key": "k"], body: [1])
      let post = ["Waystation-Client": "device-1", "Idempotency-Key": "k"]
      let first = try await device.request(
        "POST", "/v1/relay/default/key", headers: post, body: [9])
      #expect(first.status == 202, "\(first)")
      let conflict = try await sender.append(taken, at: 1, completes: true, body: [2])
      #expect(conflict.problem == "key-conflict", "\(conflict)")
      try await bodyFiles(relay, count: 0)

      _ = try await sender.create("/expired", body: [1])
      try await bodyFiles(relay, count: 1)
      try await relay.kill()
      try relay.configure(
        upstreams: ["default": Relay.quick(upstream)], more: ["retention": ["uploadSeconds": 0]])
      // A round of retention begins with each start.
      try await relay.start()
      try await bodyFiles(relay, count: 0)
    }
  }
}

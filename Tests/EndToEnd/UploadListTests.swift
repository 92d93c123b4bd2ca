import Foundation
import Testing

extension EndToEnd {
  @Suite("Uploads, as operators and their devices see them", .serialized)
  struct UploadLists {
    private let upstream: TestUpstream
    private let relay: Relay

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.guarded(upstream)
    }

    private func uploader(_ client: String) async throws -> Uploader {
      Uploader(relay, client: client, token: try await relay.token(["client": client]).text)
    }

    private func list(
      _ target: String, _ token: String? = Credentials.read
    ) async throws -> (uploads: [[String: Any]], next: String?) {
      let answer = try await relay.device("x", token: token).get(target)
      #expect(answer.status == 200, "\(target): \(answer.text)")
      let json = try answer.json()
      return (try #require(json["uploads"] as? [[String: Any]]), json["next"] as? String)
    }

    private func id(_ location: String) -> String {
      String(location.split(separator: "/").last ?? "")
    }

    @Test("an upload is listed with what it is to be and how far it has come, over kill -9")
    func listed() async throws {
      let sender = try await uploader("a")
      let location = try await sender.create(
        "/photos/9?size=l",
        [
          "Upload-Length": "10", "Idempotency-Key": "k-1", "Waystation-Lane": "photos",
          "X-Password": "hunter2",
        ], body: [1, 2, 3])
      for _ in 0..<2 {
        let (uploads, next) = try await list("/v1/uploads")
        #expect(uploads.count == 1 && next == nil)
        let upload = try #require(uploads.first)
        #expect(upload["id"] as? String == id(location) && upload["client"] as? String == "a")
        #expect(upload["key"] as? String == "k-1" && upload["lane"] as? String == "photos")
        #expect(upload["upstream"] as? String == "default")
        #expect(upload["method"] as? String == "POST")
        #expect(upload["path"] as? String == "/photos/9?size=l")
        #expect(upload["offset"] as? Int == 3 && upload["length"] as? Int == 10)
        #expect(upload["complete"] as? Bool == false && upload["envelope"] == nil)
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let times = ["createdAt", "expiresAt"].compactMap { name in
          (upload[name] as? String).flatMap(formatter.date(from:))
        }
        #expect(times.count == 2 && times[1] >= times[0].addingTimeInterval(86_400))
        #expect(!"\(upload)".contains("hunter2"))
        try await relay.kill()
        try await relay.start()
      }
      let whole = try await sender.append(location, at: 3, completes: true, body: Array(4...10))
      #expect(whole.status == 202, "\(whole)")
      let complete = try #require(try await list("/v1/uploads?client=a").uploads.first)
      #expect(complete["complete"] as? Bool == true && complete["offset"] as? Int == 10)
      #expect(complete["envelope"] as? String == (try whole.json()["id"] as? String))
    }

    @Test("uploads are listed page by page, all or one client's, and a device sees its own")
    func pages() async throws {
      var ids: [String: [String]] = [:]
      for client in ["a", "b", "a", "b", "a"] {
        let sender = try await uploader(client)
        ids[client, default: []].append(id(try await sender.create("/p", body: [1])))
      }
      var seen: [String] = []
      var after = ""
      repeat {
        let page = try await list("/v1/uploads?limit=2" + after)
        #expect(page.uploads.count <= 2)
        seen += page.uploads.compactMap { $0["id"] as? String }
        after = page.next.map { "&after=\($0)" } ?? ""
      } while !after.isEmpty
      #expect(seen.count == 5 && seen.sorted() == seen)
      let own = try await relay.token(["client": "a"]).text
      for (target, token) in [
        ("/v1/uploads?client=a", Credentials.read), ("/v1/clients/a/uploads", Credentials.read),
        ("/v1/clients/a/uploads", own),
      ] {
        let uploads = try await list(target, token).uploads
        #expect(uploads.compactMap { $0["id"] as? String } == ids["a"]?.sorted(), "\(target)")
      }
      #expect(try await list("/v1/clients/new/uploads").uploads.isEmpty)
      let device = relay.device("a", token: own)
      #expect(try await device.get("/v1/clients/b/uploads").problem == "unknown-client")
      #expect(try await device.get("/v1/uploads").status == 403)
      let odd = try await relay.device("x", token: Credentials.read).get("/v1/uploads?after=1")
      #expect(odd.status == 422 && odd.problem == "invalid-field")
    }

    @Test("an operator ends an upload, which the audit log has, and a client's view counts them")
    func ended() async throws {
      let sender = try await uploader("a")
      let steering = relay.device("a", token: Credentials.steer)
      _ = try await steering.post(["client": "a", "path": "/", "hold": true])
      let location = try await sender.create("/p", ["Upload-Length": "5000"], body: [1])
      func open() async throws -> [String: Int] {
        let client = try await steering.get("/v1/clients/a").json()
        return try #require(client["openUploads"] as? [String: Int])
      }
      #expect(try await open()["count"] == 1)
      #expect(try await open()["bytes"] ?? 0 >= 5000)
      let read = try await relay.device("a", token: Credentials.read).request("DELETE", location)
      #expect(read.status == 403)
      let listed = try await relay.command("uploads", "list", token: Credentials.read)
      #expect(listed.output.contains(id(location)) && listed.output.contains("a/default"))
      #expect(listed.output.contains("4.9 KiB") && listed.output.contains("open"), "\(listed)")
      let gone = try await relay.command(
        "uploads", "cancel", id(location), token: Credentials.steer)
      #expect(gone.ending == .exit(0) && gone.output.contains("is cancelled"), "\(gone)")
      #expect(try await open() == ["count": 0, "bytes": 0])
      let none = try await relay.command(
        "uploads", "list", "--client", "a", token: Credentials.read)
      #expect(none.ending == .exit(0) && none.output == "no uploads\n", "\(none)")
      let again = try await relay.command(
        "uploads", "cancel", id(location), token: Credentials.steer)
      #expect(again.ending == .exit(1) && again.errors.contains("upload"), "\(again)")
      // What a device does to its own is no act of an operator's.
      let own = try await sender.create("/q", body: [1])
      #expect(try await sender.send("DELETE", own)?.status == 204)
      let audit = try await steering.get("/v1/audit").json()
      let entries = try #require(audit["entries"] as? [[String: Any]])
      let acts = entries.filter { ($0["subject"] as? String)?.hasPrefix("uploads/") == true }
      #expect(acts.map { $0["result"] as? String } == ["refused", "done"])
      #expect(acts.allSatisfy { $0["subject"] as? String == "uploads/\(id(location))" })
      #expect(acts.allSatisfy { $0["action"] as? String == "cancel" })
    }
  }
}

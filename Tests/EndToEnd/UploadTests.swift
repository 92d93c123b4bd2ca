import Foundation
import Testing

extension EndToEnd {
  @Suite("Uploads that go on where they were cut off", .serialized)
  struct Uploads {
    private static let mebi = 1 << 20
    private static let mismatch =
      "https://iana.org/assignments/http-problem-types#mismatching-upload-offset"
    private static let inconsistent =
      "https://iana.org/assignments/http-problem-types#inconsistent-upload-length"
    private static let completed =
      "https://iana.org/assignments/http-problem-types#completed-upload"

    private let upstream: TestUpstream

    init() throws { upstream = try TestUpstream() }

    private func relay(_ limits: [String: any Sendable] = [:]) async throws -> Relay {
      let all = ["bodyBytesMax": 64 << 20].merging(limits) { $1 }
      return try await Relay.started(upstream, more: ["limits": all])
    }

    /// The bodies that have reached the upstream.
    private func bodies() async throws -> [[UInt8]] {
      try await upstream.received(count: 1).map(\.body)
    }

    @Test(
      "fifty megabytes arrive over a link that is cut every five, for at most 15 % more",
      .timeLimit(.minutes(2)), arguments: [Uploader.Cut.seen, .unseen])
    func cutLink(cut: Uploader.Cut) async throws {
      let relay = try await relay()
      let sender = Uploader(relay)
      let photo = Uploader.photo(50 * Self.mebi)
      let location = try await sender.create(
        "/photos/9?size=l",
        [
          "Upload-Length": "\(photo.count)", "Content-Type": "image/jpeg",
          "Idempotency-Key": "photo-9", "Waystation-Lane": "photos", "Waystation-Sequence": "1",
        ])
      let answer = try await sender.finish(location, photo, cutAfter: 5 * Self.mebi, cut)
      #expect(answer.status == 202 && answer["Upload-Complete"] == "?1", "\(answer)")
      #expect(try answer.json()["result"] as? String == "accepted")
      #expect(sender.sentBytes <= photo.count * 115 / 100, "\(sender.sentBytes)")
      let request = try await upstream.received(count: 1)[0]
      #expect(request.body == photo)
      #expect(request.method == "POST" && request.target == "/photos/9?size=l")
      #expect(request["Content-Type"] == "image/jpeg" && request["Idempotency-Key"] == "photo-9")
      #expect(request.message.fields.allSatisfy { !$0.name.hasPrefix("Upload-") })
    }

    @Test("an offset that was announced survives a kill in the middle of an append")
    func killedWithin() async throws {
      let relay = try await relay()
      let sender = Uploader(relay)
      let photo = Uploader.photo(11 * Self.mebi + 17)
      let location = try await sender.create("/p", body: Array(photo[..<1000]))
      let rest = Array(photo[1000...])
      let (connection, announced) = try await sender.send(
        "PATCH", location, Uploader.appending(at: 1000, completes: true), body: rest,
        part: 9 * Self.mebi, until: 8 * Self.mebi)
      try await relay.kill()
      connection.close()
      try await relay.start()
      let offset = try await sender.offset(location)
      #expect(offset == announced)
      let answer = try await sender.append(
        location, at: offset, completes: true, body: Array(photo[offset...]))
      #expect(answer.status == 202, "\(answer)")
      #expect(try await bodies() == [photo])
    }

    @Test("a relay that is killed at any stage goes on at the offset that it has announced")
    func killedBetween() async throws {
      let relay = try await relay()
      let sender = Uploader(relay)
      let photo = Uploader.photo(700_000)
      let location = try await sender.create("/p", ["Upload-Length": "700000"])
      func killed() async throws {
        try await relay.kill()
        try await relay.start()
      }
      try await killed()
      #expect(try await sender.offset(location) == 0)
      for end in [300_000, 300_001, 700_000] {
        let start = try await sender.offset(location)
        let answer = try await sender.append(
          location, at: start, completes: false, body: Array(photo[start..<end]))
        #expect(answer.status == 204 && answer["Upload-Offset"] == "\(end)", "\(answer)")
        try await killed()
        let state = try await sender.state(location)
        #expect(state["Upload-Offset"] == "\(end)" && state["Upload-Complete"] == "?0")
        #expect(state["Upload-Length"] == "700000" && state["Cache-Control"] == "no-store")
      }
      let whole = try await sender.append(location, at: 700_000, completes: true, body: [])
      #expect(whole.status == 202, "\(whole)")
      try await killed()
      let state = try await sender.state(location)
      #expect(state["Upload-Complete"] == "?1" && state["Upload-Offset"] == "700000")
      let again = try await sender.append(location, at: 700_000, completes: true, body: [])
      #expect(try again.status == 202 && again.json()["result"] as? String == "duplicate")
      #expect(try again.json()["id"] as? String == whole.json()["id"] as? String)
      #expect(try await bodies() == [photo])
    }

    @Test("an answer that was lost is given again to the same completing request")
    func repeated() async throws {
      let relay = try await relay()
      let sender = Uploader(relay)
      let location = try await sender.create("/p", body: [1, 2, 3])
      let first = try await sender.append(location, at: 3, completes: true, body: [4, 5])
      let again = try await sender.append(location, at: 3, completes: true, body: [4, 5])
      #expect(again.status == 202 && again["Upload-Complete"] == "?1", "\(again)")
      #expect(try again.json()["result"] as? String == "duplicate")
      #expect(try again.json()["id"] as? String == first.json()["id"] as? String)
      let more = try await sender.append(location, at: 5, completes: true, body: [6])
      #expect(more.status == 400 && more.problem == Self.completed, "\(more)")
      #expect(try await bodies() == [[1, 2, 3, 4, 5]])
    }

    @Test("a creation that is cut off is found again by its key, and takes nothing twice")
    func creationCut() async throws {
      let relay = try await relay()
      let sender = Uploader(relay)
      let photo = Uploader.photo(400_000)
      let fields = [
        "Waystation-Client": "device-1", "Idempotency-Key": "k", "Upload-Complete": "?0",
      ]
      try await sender.send(
        "POST", "/v1/relay/default/p", fields, body: photo, part: 250_000)
      let asked = try await sender.creation("/p", ["Idempotency-Key": "k"])
      #expect(asked.status == 201 && asked["Upload-Offset"] == "250000", "\(asked)")
      let location = try #require(asked["Location"])
      let whole = try await sender.creation("/p", ["Idempotency-Key": "k"], body: photo)
      #expect(whole.status == 409 && whole.problem == Self.mismatch, "\(whole)")
      #expect(whole["Location"] == location && whole["Upload-Offset"] == "250000")
      let other = try await sender.creation("/q", ["Idempotency-Key": "k"])
      #expect(other.status == 422 && other.problem == "key-conflict", "\(other)")
      let answer = try await sender.append(
        location, at: 250_000, completes: true, body: Array(photo[250_000...]))
      #expect(answer.status == 202, "\(answer)")
      let late = try await sender.creation(
        "/p", ["Idempotency-Key": "k"], body: Array(photo[..<1000]))
      #expect(late.status == 202 && late["Upload-Complete"] == "?1", "\(late)")
      #expect(try await bodies() == [photo])
    }

    @Test("a second request ends the first one, which has gone silent")
    func superseded() async throws {
      let relay = try await relay()
      let sender = Uploader(relay)
      let photo = Uploader.photo(3 * Self.mebi)
      let location = try await sender.create("/p")
      try await sender.send(
        "PATCH", location, Uploader.appending(at: 0, completes: true), body: photo,
        part: Self.mebi, cut: .unseen)
      let offset = try await sender.offset(location)
      #expect(offset == Self.mebi, "what has come is taken")
      try await sender.send(
        "PATCH", location, Uploader.appending(at: offset, completes: true),
        body: Array(photo[offset...]), part: Self.mebi, cut: .unseen)
      let next = try await sender.offset(location)
      let answer = try await sender.append(
        location, at: next, completes: true, body: Array(photo[next...]))
      #expect(answer.status == 202, "\(answer)")
      #expect(try await bodies() == [photo])
    }

    @Test("an append elsewhere than at the end is refused, and told where that is")
    func wrongOffset() async throws {
      let relay = try await relay()
      let sender = Uploader(relay)
      let location = try await sender.create("/p", body: [1, 2, 3])
      for offset in [0, 2, 4] {
        let answer = try await sender.append(location, at: offset, completes: false, body: [9])
        #expect(answer.status == 409 && answer.problem == Self.mismatch, "\(answer)")
        #expect(answer["Upload-Offset"] == "3")
        #expect(try answer.json()["expected-offset"] as? Int == 3)
        #expect(try answer.json()["provided-offset"] as? Int == offset)
      }
      let device = relay.device()
      let target = location
      let fields = ["Content-Type": "image/png", "Upload-Offset": "3", "Upload-Complete": "?1"]
      let wrong = try await device.request("PATCH", target, headers: fields, body: [])
      #expect(wrong.status == 415 && wrong["Accept"] == "application/partial-upload")
      let bare = ["Content-Type": "application/partial-upload", "Upload-Offset": "3"]
      let lacking = try await device.request("PATCH", target, headers: bare, body: [])
      #expect(lacking.status == 422 && lacking.problem == "missing-field")
    }

    @Test("lengths that contradict each other are refused, and what exceeds its own is given up")
    func lengths() async throws {
      let relay = try await relay(["bodyBytesMax": 1000])
      let sender = Uploader(relay)
      let location = try await sender.create("/p", ["Upload-Length": "5"], body: [1, 2])
      let other = try await sender.append(
        location, at: 2, completes: false, ["Upload-Length": "6"], body: [3])
      #expect(other.status == 400 && other.problem == Self.inconsistent, "\(other)")
      let short = try await sender.append(location, at: 2, completes: true, body: [3])
      #expect(short.status == 400 && short.problem == Self.inconsistent, "\(short)")
      let large = try await sender.creation("/q", ["Upload-Length": "1001"])
      #expect(large.status == 413 && large.problem == "body-too-large", "\(large)")
      #expect(large["Upload-Limit"] == "max-size=1000, max-append-size=1000")
      #expect(try await sender.state(location)["Upload-Limit"]?.contains("max-age=86") == true)
      let chunked =
        "PATCH \(location) HTTP/1.1\r\nHost: relay\r\nContent-Type: application/partial-upload\r\n"
        + "Upload-Offset: 2\r\nUpload-Complete: ?0\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "4\r\nabcd\r\n0\r\n\r\n"
      let over = try await relay.device().raw(Array(chunked.utf8), method: "PATCH")
      #expect(over.status == 400 && over.problem == Self.inconsistent, "\(over)")
      #expect(try await sender.state(location).status == 404)
    }

    @Test("a digest that the sender has named is held against what came")
    func digest() async throws {
      let relay = try await relay()
      let sender = Uploader(relay)
      // SHA-256 of "abc" (FIPS 180-4).
      let digest = "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"
      let good = try await sender.create("/good", ["Repr-Digest": digest], body: [97])
      let taken = try await sender.append(good, at: 1, completes: true, body: [98, 99])
      #expect(taken.status == 202, "\(taken)")
      let bad = try await sender.create("/bad", ["Repr-Digest": digest], body: [97])
      let refused = try await sender.append(bad, at: 1, completes: true, body: [98, 100])
      #expect(refused.status == 422 && refused.problem == "mismatching-digest", "\(refused)")
      #expect(refused["Upload-Complete"] == "?1")
      #expect(try await sender.state(bad).status == 404)
      for digest in ["sha-256=:AA==:", "sha-256=abc", "garbage", "SHA-256=:AA==:"] {
        let odd = try await sender.creation("/odd", ["Repr-Digest": digest])
        #expect(odd.status == 422 && odd.problem == "invalid-field", "\(digest)")
      }
      #expect(try await bodies() == [Array("abc".utf8)])
    }

    @Test("another client's upload is unknown, and one that is given up as well")
    func others() async throws {
      let relay = try await Relay.guarded(upstream)
      let a = Uploader(relay, client: "a", token: try await relay.token(["client": "a"]).text)
      let b = Uploader(relay, client: "b", token: try await relay.token(["client": "b"]).text)
      let location = try await a.create("/p", body: [1])
      #expect(try await b.state(location).status == 404)
      let append = try await b.append(location, at: 1, completes: true, body: [2])
      #expect(append.status == 404 && append.problem == "unknown-upload", "\(append)")
      #expect(try await b.send("DELETE", location)?.status == 404)
      #expect(try await a.offset(location) == 1)
      #expect(try await a.send("DELETE", location)?.status == 204)
      #expect(try await a.state(location).status == 404)
    }

    @Test("a whole request whose sender asks to be told of its upload can go on after a cut")
    func asked() async throws {
      let relay = try await relay()
      let sender = Uploader(relay)
      let photo = Uploader.photo(6 * Self.mebi)
      let fields = ["Waystation-Client": "device-1", "Upload-Complete": "?1"]
      let (connection, _) = try await sender.send(
        "POST", "/v1/relay/default/p", fields, body: photo, part: 5 * Self.mebi,
        until: 4 * Self.mebi)
      connection.close()
      let plain = try await sender.creation("/plain", ["Upload-Complete": "?1"], body: [7])
      #expect(plain.status == 202 && plain["Upload-Complete"] == nil, "\(plain)")
      #expect(try await bodies() == [[7]])
      let status = try await relay.device().get("/status").json()
      #expect((status["store"] as? [String: Any])?["openUploads"] as? Int == 1)
    }
  }
}

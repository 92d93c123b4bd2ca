import Foundation
import Testing

extension EndToEnd {
  @Suite("Uploads under a key that was used", .serialized)
  struct UploadRepeats {
    private static let key = ["Idempotency-Key": "k"]
    private static let whole = [
      "Idempotency-Key": "k", "Upload-Complete": "?1", "Upload-Draft-Interop-Version": "8",
    ]

    private let upstream: TestUpstream
    private let relay: Relay
    private var sender: Uploader { Uploader(relay) }

    init() async throws {
      upstream = try TestUpstream()
      relay = try await Relay.started(upstream)
    }

    private func isDuplicate(_ answer: WireResponse) -> Bool {
      let result = (try? answer.json())?["result"] as? String
      return answer.status == 202 && result == "duplicate" && answer["Upload-Complete"] == "?1"
    }

    private func isConflict(_ answer: WireResponse) -> Bool {
      answer.status == 422 && answer.problem == "key-conflict"
    }

    /// An upload of these bytes under the key that has become an envelope.
    private func complete(_ photo: [UInt8]) async throws -> String {
      let location = try await sender.create("/p", Self.key, body: Array(photo[..<1000]))
      let answer = try await sender.append(
        location, at: 1000, completes: true, body: Array(photo[1000...]))
      #expect(answer.status == 202, "\(answer)")
      return location
    }

    @Test("another body under the key of a complete upload is refused, and the same is a duplicate")
    func otherBody() async throws {
      let photo = Uploader.photo(300_000)
      let location = try await complete(photo)
      var other = photo
      other[299_999] ^= 1
      for body in [other, Uploader.photo(290_000)] {
        let answer = try await sender.creation("/p", Self.whole, body: body)
        #expect(isConflict(answer), "\(answer)")
      }
      let first = try await sender.creation("/p", Self.key, body: [1, 2, 3])
      #expect(isConflict(first), "\(first)")
      let long = try await sender.creation("/p", Self.key, body: photo + [1])
      #expect(isConflict(long), "\(long)")
      let patched = try await sender.append(
        location, at: 1000, completes: true, body: Array(other[1000...]))
      #expect(isConflict(patched), "\(patched)")
      let digest = ["Repr-Digest": "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"]
      let named = try await sender.append(location, at: 300_000, completes: true, digest, body: [])
      #expect(isConflict(named), "\(named)")
      for same in [
        try await sender.creation("/p", Self.whole, body: photo),
        try await sender.creation("/p", Self.key, body: Array(photo[..<1000])),
        try await sender.creation("/p", Self.key),
        try await sender.creation("/p", Self.whole),
        try await sender.append(location, at: 300_000, completes: true, body: []),
        try await sender.append(
          location, at: 1000, completes: true, body: Array(photo[1000...])),
      ] {
        #expect(isDuplicate(same), "\(same)")
      }
      #expect(try await upstream.received(count: 1).map(\.body) == [photo])
    }

    @Test("an empty whole request finds the upload that was cut off, and makes no empty envelope")
    func emptyQuestion() async throws {
      let photo = Uploader.photo(400_000)
      let fields = Self.whole.merging(["Waystation-Client": "device-1"]) { $1 }
      try await sender.send("POST", "/v1/relay/default/p", fields, body: photo, part: 250_000)
      let asked = try await sender.creation("/p", Self.whole)
      #expect(asked.status == 201 && asked["Upload-Offset"] == "250000", "\(asked)")
      let bare = try await sender.creation("/p", Self.key.merging(["Upload-Complete": "?1"]) { $1 })
      #expect(bare.status == 201 && bare["Location"] == asked["Location"], "\(bare)")
      let location = try #require(asked["Location"])
      let answer = try await sender.append(
        location, at: 250_000, completes: true, body: Array(photo[250_000...]))
      #expect(answer.status == 202, "\(answer)")
      #expect(try await upstream.received(count: 1).map(\.body) == [photo])
    }

    @Test("an empty whole request leaves an upload open of which nothing has come")
    func nothingCame() async throws {
      let location = try await sender.create("/p", Self.key)
      let asked = try await sender.creation("/p", Self.whole)
      #expect(asked.status == 201 && asked["Location"] == location, "\(asked)")
      #expect(asked["Upload-Offset"] == "0" && asked["Upload-Complete"] == "?0")
      let answer = try await sender.append(location, at: 0, completes: true, body: [1])
      #expect(answer.status == 202, "\(answer)")
      #expect(try await upstream.received(count: 1).map(\.body) == [[1]])
    }

    @Test("a key that an envelope has is told before anything of the body has come")
    func takenKey() async throws {
      let post = Self.key.merging(["Waystation-Client": "device-1"]) { $1 }
      let first = try await relay.device().request(
        "POST", "/v1/relay/default/p", headers: post, body: Uploader.photo(300_000))
      #expect(first.status == 202, "\(first)")
      let begun = try await sender.creation("/p", Self.key)
      #expect(isConflict(begun) && begun.text.contains("\"id\""), "\(begun)")
      let same = try await sender.creation("/p", Self.whole, body: Uploader.photo(300_000))
      #expect(isDuplicate(same), "\(same)")
      let other = try await sender.creation("/p", Self.whole, body: Uploader.photo(300_001))
      #expect(isConflict(other), "\(other)")
    }

    @Test("of two uploads with one number the second is refused, unless it is the first once more")
    func takenNumber() async throws {
      let place = ["Waystation-Lane": "photos", "Waystation-Sequence": "1"]
      let location = try await sender.create("/p", place, body: [1])
      let other = try await sender.creation("/q", place)
      #expect(other.status == 422 && other.problem == "sequence-conflict", "\(other)")
      #expect(other["Location"] == location)
      let named = try await sender.creation("/p", place.merging(Self.key) { $1 })
      #expect(named.problem == "sequence-conflict", "\(named)")
      let again = try await sender.creation("/p", place)
      #expect(again.status == 201 && again["Location"] == location, "\(again)")
      #expect(again["Upload-Offset"] == "1")
      try await relay.kill()
      try await relay.start()
      #expect(try await sender.creation("/q", place).problem == "sequence-conflict")
      #expect(try await sender.send("DELETE", location)?.status == 204)
      #expect(try await sender.creation("/q", place).status == 201)
    }

    @Test("a conflict with an open upload says where it is, also for another digest")
    func openConflict() async throws {
      let digest = ["Repr-Digest": "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"]
      let location = try await sender.create("/p", Self.key.merging(digest) { $1 })
      let zeros = ["Repr-Digest": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"]
      for (path, fields) in [("/q", [:]), ("/p", zeros)] as [(String, [String: String])] {
        let answer = try await sender.creation(path, Self.key.merging(fields) { $1 })
        #expect(isConflict(answer) && answer["Location"] == location, "\(answer)")
        #expect(answer["Upload-Complete"] == "?0" && answer.text.contains("The upload under"))
      }
    }
  }
}

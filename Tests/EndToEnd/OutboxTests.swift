import Foundation
import Synchronization
import Testing
import WaystationOutbox
import WaystationOutboxCurl

extension EndToEnd {
  @Suite("A device's outbox", .serialized)
  struct Outboxes {
    private static let lanes = ["a", "b", "c"]

    /// Keeps requests, in three lanes in turn; returns their items and keys by lane.
    private static func fill(
      _ outbox: Outbox, _ numbers: Range<Int>
    ) async throws -> (ids: [Item.ID], keys: [String: [String]]) {
      var ids: [Item.ID] = []
      var keys: [String: [String]] = [:]
      for number in numbers {
        let lane = lanes[number % lanes.count]
        let id = try await outbox.enqueue(
          Request("POST", "/\(lane)/\(number)", .json("{}")), Options(lane: Lane(lane)))
        ids.append(id)
        keys[lane, default: []].append(try #require(await outbox.item(id)).key)
      }
      return (ids, keys)
    }

    /// The keys that have come to the upstream, by lane, each the first time.
    private static func firstKeys(_ requests: [WireRequest]) -> [String: [String]] {
      var known: Set<String> = []
      var keys: [String: [String]] = [:]
      for request in requests {
        let key = request["Idempotency-Key"] ?? "none"
        guard known.insert(key).inserted else { continue }
        keys[String(request.target.split(separator: "/")[0]), default: []].append(key)
      }
      return keys
    }

    @Test(
      "what is kept while the relay is away comes in order, once, and with its answer",
      arguments: [Custody.accepted, .delivered])
    func away(custody: Custody) async throws {
      let stand = try OutboxStand { .answer(201, body: Array("taken \($0.target)".utf8)) }
      let outbox = try await Outbox.open(stand.settings(custody: custody))
      let (ids, keys) = try await Self.fill(outbox, 0..<300)
      try await stand.relay.start()
      let words = await Set(outbox.words(of: ids))
      #expect(words == ["delivered 201"])
      let received = stand.upstream.received
      #expect(received.count == 300)
      #expect(Self.firstKeys(received) == keys)
      let answer = try #require(await outbox.outcome(of: ids[4])?.response)
      #expect(String(decoding: answer.body, as: UTF8.self) == "taken /b/4")
      await outbox.close()
    }

    @Test("what is on its way when the relay is killed comes all the same, in order")
    func killed() async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      var settings = stand.settings()
      settings.sending.batchItems = 10
      let outbox = try await Outbox.open(settings)
      async let filled = Self.fill(outbox, 0..<200)
      try await stand.upstream.received(count: 20)
      try await stand.relay.kill()
      try await stand.relay.start()
      let (ids, keys) = try await filled
      // The answer of what was delivered before the relay's end was noted is not told twice.
      #expect(await outbox.words(of: ids).allSatisfy { $0.hasPrefix("delivered") })
      #expect(Self.firstKeys(stand.upstream.received) == keys)
      await outbox.close()
    }

    @Test(
      "waiting for what becomes of a request ends with its answer, or at once without a network")
    func eventually() async throws {
      let stand = try OutboxStand { _ in .answer(200, body: Array("hello".utf8)) }
      try await stand.relay.start()
      let outbox = try await Outbox.open(stand.settings())
      let outcome = try await outbox.saveEventually(Request("POST", "/1"), within: .seconds(20))
      #expect(outcome.response?.body == Array("hello".utf8))
      await outbox.close()
      let folder = try TemporaryFolder()
      let nobody = "http://127.0.0.1:\(try ReservedPort.kept())"
      let alone = try await Outbox.open(
        OutboxStand.settings(folder, .relay(base: nobody, client: OutboxStand.client)))
      let unanswered = try await alone.saveEventually(Request("POST", "/1"), within: .seconds(60))
      guard case .connection(let failure) = unanswered else {
        Issue.record("it was \(unanswered)")
        return
      }
      #expect(!failure.mayHaveArrived && failure.reason.hasSuffix("connection refused"))
      #expect(await alone.status()?.waiting == 1)
      await alone.close()
    }

    @Test("what waits at the relay is changed and taken back there")
    func changedAtRelay() async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      let device = stand.relay.device()
      #expect(try await device.request("POST", "/v1/upstreams/default/pause").status == 200)
      let outbox = try await Outbox.open(stand.settings())
      let first = try await outbox.enqueue(Request("POST", "/1", .json("1")))
      let second = try await outbox.enqueue(Request("POST", "/2", .json("2")))
      for id in [first, second] {
        _ = try await outbox.item(id, "is at the relay", where: \.isAtRelay)
      }
      try await outbox.cancel(first)
      try await outbox.edit(second, Change(request: Request("PUT", "/changed", .json("3"))))
      #expect(try await device.request("POST", "/v1/upstreams/default/resume").status == 200)
      #expect(await outbox.words(of: [first, second]) == ["cancelled", "delivered 200"])
      let received = stand.upstream.received
      #expect(received.map { "\($0.method) \($0.target)" } == ["PUT /changed"])
      #expect(received.first?.body == Array("3".utf8))
      await outbox.close()
    }

    @Test(
      "a request that takes another one's place at the relay leaves nothing of that behind",
      arguments: [Custody.accepted, .delivered])
    func replacedAtRelay(custody: Custody) async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      let device = stand.relay.device()
      #expect(try await device.request("POST", "/v1/upstreams/default/pause").status == 200)
      let outbox = try await Outbox.open(stand.settings(custody: custody))
      let former = Request(
        "POST", "/1", .json("{}"), headers: [("X-Old", "1"), ("X-Two", "1")])
      let id = try await outbox.enqueue(former)
      _ = try await outbox.item(id, "is at the relay", where: \.isAtRelay)
      let other = Request("DELETE", "/2", headers: [("X-Two", "2"), ("X-Two", "3")])
      try await outbox.edit(id, Change(request: other))
      #expect(try await device.request("POST", "/v1/upstreams/default/resume").status == 200)
      #expect(await outbox.words(of: [id]) == ["delivered 200"])
      let received = try #require(stand.upstream.received.first)
      #expect(received.method == "DELETE" && received.target == "/2" && received.body.isEmpty)
      #expect(received.message.fields.filter { $0.name == "X-Two" }.map(\.value) == ["2", "3"])
      // With custody accepted the device does not know any more what the former one had.
      #expect(received["X-Old"] == (custody == .accepted ? "1" : nil))
      await outbox.close()
    }

    @Test("what the upstream refuses blocks its lane, until it is changed or given up")
    func refused() async throws {
      let stand = try OutboxStand { request in
        guard String(decoding: request.body, as: UTF8.self).contains("bad") else {
          return .answer(200)
        }
        let type = WireField(name: "Content-Type", value: "application/problem+json")
        return .answer(422, fields: [type], body: Array(#"{"errorId": "E-17"}"#.utf8))
      }
      try await stand.relay.start()
      let outbox = try await Outbox.open(stand.settings())
      var ids: [Item.ID] = []
      for (lane, word) in [("a", "bad"), ("a", "good"), ("b", "bad"), ("b", "good")] {
        let request = Request("POST", "/sales", .json("\"\(word)\""))
        ids.append(try await outbox.enqueue(request, Options(lane: Lane(lane))))
      }
      for id in [ids[0], ids[2]] {
        let item = try await outbox.item(id, "is blocked", where: \.isBlocked)
        #expect(item.lastError?.id == "E-17")
      }
      #expect(await outbox.words(of: [ids[0]]) == ["refused E-17"])
      let status = try #require(await outbox.status())
      #expect(status.needsAttention == 2 && status.lanes["a"]?.blockedBy == ids[0])
      #expect(stand.upstream.received.count == 2)
      let changed = Change(request: Request("POST", "/sales", .json("\"mended\"")))
      try await outbox.resolve(ids[0], .retry(changed))
      #expect(await outbox.words(of: [ids[0], ids[1]]) == ["delivered 200", "delivered 200"])
      try await outbox.resolve(ids[2], .discard(reason: "sold by hand"))
      #expect(await outbox.words(of: [ids[3]]) == ["delivered 200"])
      let lanes = await outbox.status()?.lanes
      #expect(lanes?.values.allSatisfy { $0.blockedBy == nil } == true)
      let bodies = stand.upstream.received.dropFirst(2).map {
        String(decoding: $0.body, as: UTF8.self)
      }
      #expect(bodies == ["\"mended\"", "\"good\"", "\"good\""])
      await outbox.close()
    }

    @Test("a device has the upstream's own words for a refusal, by a relay and without one")
    func upstreamWords() async throws {
      let refusal = #"{"errorId": "negative", "message": "a sale cannot be negative"}"#
      let stand = try OutboxStand { _ in
        let type = WireField(name: "Content-Type", value: "application/json")
        return .answer(422, fields: [type], body: Array(refusal.utf8))
      }
      try await stand.relay.start()
      var settings = stand.settings()
      settings.lanes["b", default: LaneSettings()].onRefusal = .skip
      let outbox = try await Outbox.open(settings)
      let wanted = RecordedError(id: "negative", message: "a sale cannot be negative")
      let blocked = try await outbox.enqueue(Request("POST", "/sales"), Options(lane: Lane("a")))
      #expect(try await outbox.item(blocked, "is blocked", where: \.isBlocked).lastError == wanted)
      let skipped = try await outbox.enqueue(Request("POST", "/sales"), Options(lane: Lane("b")))
      guard case .refused(let answer, let error)? = await outbox.outcome(of: skipped) else {
        Issue.record("it was not refused")
        return
      }
      #expect(answer?.body == Array(refusal.utf8) && error == wanted)
      await outbox.close()
      let folder = try TemporaryFolder()
      let direct = try await Outbox.open(
        OutboxStand.settings(folder, .direct(base: stand.upstream.url)))
      let alone = try await direct.enqueue(Request("POST", "/sales"), Options(lane: Lane("a")))
      #expect(try await direct.item(alone, "is blocked", where: \.isBlocked).lastError == wanted)
      await direct.close()
    }

    @Test("a large file arrives whole over a network that cuts each connection")
    func upload() async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      let photo = Uploader.photo(5 << 20)
      let path = stand.folder.path + "/photo"
      try Data(photo).write(to: URL(fileURLWithPath: path))
      let link = try NetworkLink(to: stand.relay.port, cuttingAfter: 1 << 20)
      let outbox = try await Outbox.open(stand.settings(link.url, custody: .delivered))
      let events = outbox.events()
      let id = try await outbox.enqueue(
        Request("POST", "/photos/1", .file(path: path, type: "image/jpeg", mode: .move)))
      #expect(await outbox.words(of: [id]) == ["delivered 200"])
      let received = stand.upstream.received
      #expect(received.count == 1 && received.first?.body == photo)
      #expect(received.first?["Content-Type"] == "image/jpeg")
      #expect(link.cutCount >= 5)
      await outbox.close()
      // All of it in bytes of the whole body, whichever part is under way.
      var told: [Int64] = []
      for await event in events {
        guard case .sending(id, let progress) = event else { continue }
        #expect(progress.total == Int64(photo.count))
        told.append(progress.sent)
      }
      #expect(told.max() == Int64(photo.count))
    }

    @Test("an upload whose key the relay remembers alone is over, and its lane goes on")
    func forgottenUpload() async throws {
      let retention = ["deliveredSeconds": 0, "keySeconds": 3600]
      let stand = try OutboxStand(more: ["retention": retention])
      try await stand.relay.start()
      let device = stand.relay.device(OutboxStand.client)
      _ = try await device.post(["path": "/photos/1", "key": "photo-1", "body": "taken"])
      try await stand.upstream.received(count: 1)
      try await stand.isForgotten(key: "photo-1")
      let path = stand.folder.path + "/photo"
      try Data(Uploader.photo(5 << 20)).write(to: URL(fileURLWithPath: path))
      let outbox = try await Outbox.open(stand.settings(custody: .delivered))
      let known = try await outbox.enqueue(
        Request("POST", "/photos/1", .file(path: path, type: "image/jpeg", mode: .move)),
        Options(key: "photo-1"))
      try await outbox.enqueue(Request("POST", "/photos/2", .json("2")))
      #expect(await outbox.words(of: [known]) == ["unknown"])
      let received = try await stand.upstream.received(count: 2)
      #expect(received.map(\.target) == ["/photos/1", "/photos/2"])
      await outbox.close()
    }

    @Test("without a relay the upstream gets each request under its key, and its answer comes back")
    func direct() async throws {
      let upstream = try TestUpstream { request in
        request.target == "/bad" ? .answer(422) : .answer(200, body: request.body)
      }
      let folder = try TemporaryFolder()
      let outbox = try await Outbox.open(
        OutboxStand.settings(folder, .direct(base: upstream.url)))
      let id = try await outbox.enqueue(
        Request("POST", "/1", .json("1")), Options(key: "key-1"))
      let bad = try await outbox.enqueue(Request("POST", "/bad"), Options(lane: Lane("a")))
      #expect(await outbox.outcome(of: id)?.response?.body == Array("1".utf8))
      #expect(await outbox.words(of: [bad]) == ["refused status-422"])
      let keys = upstream.received.filter { $0.target == "/1" }.map { $0["Idempotency-Key"] }
      #expect(keys == ["key-1"])
      await outbox.close()
    }

    /// A token that is refused, and one that is not.
    private final class Renewed: WaystationOutbox.Credentials {
      let asked = Mutex(0)

      func current() async -> Credential? { .bearer("wst_old") }

      func refused(_ old: Credential?) async -> Credential? {
        asked.withLock { $0 += 1 }
        return .bearer(EndToEnd.Outboxes.token)
      }
    }

    private static var token: String { Credentials.derived("truck-1") }

    @Test("a token that is refused is renewed once, and nothing is lost by it")
    func renewed() async throws {
      let stand = try OutboxStand(more: Credentials.configuration)
      try await stand.relay.start()
      let credentials = Renewed()
      var settings = OutboxStand.settings(
        stand.folder, .relay(base: "http://127.0.0.1:\(stand.relay.port)", client: "truck-1"))
      settings.credentials = credentials
      let outbox = try await Outbox.open(settings)
      let id = try await outbox.enqueue(Request("POST", "/1"))
      #expect(await outbox.words(of: [id]) == ["delivered 200"])
      #expect(credentials.asked.withLock { $0 } == 1)
      await outbox.close()
    }

    @Test("a relay that asks for a certificate takes what comes with one")
    func certificate() async throws {
      let secured = try await SecuredRelay.started { authority in
        let asked: [String: any Sendable] = [
          "authorities": authority.certificate, "required": true,
        ]
        return ["clientCertificates": asked]
      }
      let shown = try await secured.authority.sign(
        "device", subject: "/CN=truck-7", names: "DNS:truck-7")
      let folder = try TemporaryFolder()
      var settings = OutboxStand.settings(
        folder, .relay(base: "https://127.0.0.1:\(secured.port)", client: "truck-7"))
      var options = CurlTransport.Options()
      options.certificates = secured.authority.certificate
      settings.transport = CurlTransport(options)
      settings.credentials = FixedCredentials(
        Credential(identity: .pem(certificate: shown.certificate, key: shown.key)))
      let outbox = try await Outbox.open(settings)
      let id = try await outbox.enqueue(Request("POST", "/1"))
      #expect(await outbox.words(of: [id]) == ["delivered 200"])
      #expect(secured.upstream.received.count == 1)
      await outbox.close()
    }
  }
}

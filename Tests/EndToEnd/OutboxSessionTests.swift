import Foundation
import Testing
import WaystationOutbox
import WaystationOutboxFoundation

extension EndToEnd {
  @Suite("A device's outbox by URLSession", .serialized, .ofNoStore)
  struct OutboxSessions {
    private struct Reading: Codable, Equatable {
      var number: Int
      var at: Date
    }

    /// Settings for a stand's relay.
    private static func settings(_ stand: OutboxStand, _ base: String? = nil) -> Settings {
      var settings = stand.settings(base, custody: .delivered)
      settings.transport = URLSessionTransport()
      return settings
    }

    @Test("what is kept while the relay is away comes in order, once, and with its answer")
    func away() async throws {
      let stand = try OutboxStand { .answer(201, body: $0.body) }
      let outbox = try await Outbox.open(Self.settings(stand))
      let readings = (0..<40).map { Reading(number: $0, at: Date(timeIntervalSince1970: 1e9)) }
      var ids: [Item.ID] = []
      for reading in readings {
        ids.append(try await outbox.enqueue(Request("POST", "/r", .json(encoding: reading))))
      }
      try await stand.relay.start()
      #expect(await Set(outbox.words(of: ids)) == ["delivered 201"])
      let received = try stand.upstream.received.map {
        try FoundationJSON().decode(Reading.self, from: $0.body)
      }
      #expect(received == readings)
      let answer = try #require(await outbox.outcome(of: ids[7])?.response)
      #expect(try answer.decoded() == readings[7])
      await outbox.close()
    }

    @Test("what is on its way when the relay is killed comes all the same, in order")
    func killed() async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      var settings = Self.settings(stand)
      settings.sending.batchItems = 10
      let outbox = try await Outbox.open(settings)
      var ids: [Item.ID] = []
      for number in 0..<100 {
        ids.append(try await outbox.enqueue(Request("POST", "/\(number)", .json("{}"))))
      }
      try await stand.upstream.received(count: 20)
      try await stand.relay.kill()
      try await stand.relay.start()
      #expect(await outbox.words(of: ids).allSatisfy { $0.hasPrefix("delivered") })
      var known: Set<String> = []
      let targets = stand.upstream.received.map(\.target).filter { known.insert($0).inserted }
      #expect(targets == (0..<100).map { "/\($0)" })
      await outbox.close()
    }

    @Test("a relay that is killed in the middle of an answer has not answered")
    func killedInAnswer() async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      let exchange = Exchange(
        method: "GET", url: "http://127.0.0.1:\(stand.relay.port)/v1/events", headers: [],
        body: .none, timeout: .seconds(30))
      let (begun, begin) = AsyncStream.makeStream(of: Void.self)
      let failing = Task { () -> ConnectionFailure? in
        do throws(ConnectionFailure) {
          _ = try await URLSessionTransport().send(exchange) { progress in
            if progress.received > 0 { begin.yield() }
          }
          return nil
        } catch {
          return error
        }
      }
      _ = await begun.first { _ in true }
      try await stand.relay.kill()
      #expect(await failing.value?.mayHaveArrived == true)
    }

    @Test("without a network waiting ends at once, and the request is kept")
    func refused() async throws {
      let stand = try OutboxStand()
      let outbox = try await Outbox.open(Self.settings(stand))
      let outcome = try await outbox.saveEventually(Request("POST", "/1"), within: .seconds(60))
      guard case .connection(let failure) = outcome else {
        Issue.record("it was \(outcome)")
        return
      }
      #expect(!failure.mayHaveArrived)
      #expect(await outbox.status()?.waiting == 1)
      await outbox.close()
    }

    /// A token that is refused, and one that is not.
    private struct Renewed: WaystationOutbox.Credentials {
      let token: String

      func current() async -> Credential? { .bearer("wst_old") }

      func refused(_ old: Credential?) async -> Credential? { .bearer(token) }
    }

    @Test("a token that the relay refuses is renewed, and the request goes")
    func renewed() async throws {
      let stand = try OutboxStand(more: Credentials.configuration)
      try await stand.relay.start()
      var settings = OutboxStand.settings(
        stand.folder, .relay(base: "http://127.0.0.1:\(stand.relay.port)", client: "truck-1"))
      settings.transport = URLSessionTransport()
      settings.credentials = Renewed(token: Credentials.derived("truck-1"))
      let outbox = try await Outbox.open(settings)
      let id = try await outbox.enqueue(Request("POST", "/1"))
      #expect(await outbox.words(of: [id]) == ["delivered 200"])
      await outbox.close()
    }

    @Test("a large file arrives whole over a network that cuts each connection")
    func upload() async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      let photo = Uploader.photo(3 << 20)
      let path = stand.folder.path + "/photo"
      try Data(photo).write(to: URL(fileURLWithPath: path))
      let link = try NetworkLink(to: stand.relay.port, cuttingAfter: 1 << 20)
      let outbox = try await Outbox.open(Self.settings(stand, link.url))
      let id = try await outbox.enqueue(
        Request("POST", "/photos/1", .file(path: path, type: "image/jpeg", mode: .move)))
      #expect(await outbox.words(of: [id]) == ["delivered 200"])
      let received = stand.upstream.received
      #expect(received.count == 1 && received.first?.body == photo)
      #expect(received.first?["Content-Type"] == "image/jpeg" && link.cutCount >= 3)
      await outbox.close()
    }

    @Test("a large answer comes whole through the relay, or cut where no more is of use")
    func largeAnswer() async throws {
      let body = Uploader.photo(3 << 20)
      let upstream = try TestUpstream { _ in .answer(200, body: body) }
      let relay = try await Relay.started(
        upstream, upstreamMore: ["responseBodyBytesMax": 8 << 20])
      var exchange = Exchange(
        method: "GET", url: "http://127.0.0.1:\(relay.port)/v1/relay/default/photo",
        headers: [("Waystation-Client", OutboxStand.client), ("Prefer", "wait=20")],
        body: .none, timeout: .seconds(30))
      let transport = URLSessionTransport()
      for (most, isCut) in [(4 << 20, false), (1 << 20, true)] {
        exchange.responseBytesMax = most
        let answer = try await transport.send(exchange) { _ in }
        #expect(answer.status == 200 && answer.isCut == isCut)
        // Showing where they differ would take minutes.
        let isSame = answer.body == Array(body.prefix(most))
        #expect(isSame, "\(answer.body.count) bytes, \(answer.headers)")
      }
    }

    @Test("a large body goes straight to an upstream as well, under its key")
    func direct() async throws {
      let upstream = try TestUpstream()
      let folder = try TemporaryFolder()
      var settings = OutboxStand.settings(folder, .direct(base: upstream.url))
      settings.transport = URLSessionTransport()
      let outbox = try await Outbox.open(settings)
      let photo = Uploader.photo(2 << 20)
      let id = try await outbox.enqueue(
        Request("POST", "/photo", .bytes(photo, type: "image/jpeg")), Options(key: "key-1"))
      #expect(await outbox.words(of: [id]) == ["delivered 200"])
      let request = try #require(upstream.received.first)
      #expect(request.body == photo && request["Idempotency-Key"] == "key-1")
      await outbox.close()
    }
  }
}

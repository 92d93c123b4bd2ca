import Foundation
import Testing
import WaystationOutbox
import WaystationOutboxCurl
import WaystationOutboxFoundation

extension EndToEnd {
  @Suite("A body's file that was changed on a device", .serialized)
  struct OutboxChangedFiles {
    /// What carries requests.
    enum Carrier: CaseIterable {
      case curl, session

      var transport: any Transport {
        switch self {
        case .curl: CurlTransport()
        case .session: URLSessionTransport()
        }
      }
    }

    @Test(
      "comes to nobody as a whole, by way of a relay and without one",
      arguments: Carrier.allCases, [true, false])
    func notSent(_ carrier: Carrier, byRelay: Bool) async throws {
      let stand = try OutboxStand()
      try await stand.relay.start()
      var settings = stand.settings()
      if !byRelay { settings.destination = .direct(base: stand.upstream.url) }
      settings.transport = carrier.transport
      settings.startPaused = true
      let outbox = try await Outbox.open(settings)
      let photo = Uploader.photo(3 << 20)
      let request = Request("POST", "/photo", .bytes(photo, type: "image/jpeg"))
      let id = try await outbox.enqueue(request)
      let bodies = "\(settings.folder)/bodies"
      let name = try #require(try FileManager.default.contentsOfDirectory(atPath: bodies).first)
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: "\(bodies)/\(name)"))
      try file.seek(toOffset: 2 << 20)
      try file.write(contentsOf: [photo[2 << 20] ^ 1])
      try file.close()
      try await outbox.resume()
      #expect(await outbox.words(of: [id]) == ["refused body-lost"])
      #expect(stand.upstream.received.isEmpty)
      // The relay has the beginning of the one before it.
      let other = Array(photo.reversed())
      try await outbox.resolve(
        id, .retry(Change(request: Request("POST", "/photo", .bytes(other, type: "image/jpeg")))))
      #expect(await outbox.words(of: [id]) == ["delivered 200"])
      #expect(stand.upstream.received.map { $0.body == other } == [true])
      await outbox.close()
    }
  }
}

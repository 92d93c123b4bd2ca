import SQLite
import Synchronization
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("A body's file that was changed where it is kept", .timeLimit(.minutes(5)))
struct ChangedFileTests {
  /// Bodies that go in a post, and such as are uploaded in parts of two blocks and a half.
  enum Way: String, CaseIterable, CustomTestStringConvertible {
    case posted, uploaded

    var testDescription: String { rawValue }
    var byteCount: Int { self == .posted ? 100_000 : 2_000_000 }
  }

  private static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  }

  private static func request(_ path: String, _ way: Way) -> Request {
    Request("POST", path, .bytes(bytes(way.byteCount), type: "a/b"))
  }

  private static func stand(_ change: (inout Settings) -> Void = { _ in }) async throws -> Stand {
    try await Stand { settings in
      settings.startPaused = true
      settings.sending.partBytes = FileSums.blockBytes * 5 / 2
      change(&settings)
    }
  }

  private static func file(_ stand: Stand) throws -> String {
    let bodies = "\(stand.folder.path)/outbox/bodies"
    return "\(bodies)/\(try #require(Platform.names(in: bodies).first))"
  }

  /// Changes one byte of a file, and gives it back.
  private static func change(_ path: String, at place: Int, by mask: UInt8 = 1) throws {
    var bytes = try Platform.read(path)
    bytes[place] ^= mask
    try Platform.overwrite(path, with: bytes)
  }

  @Test("is not sent, and waits for somebody who mends it", arguments: Way.allCases)
  func notSent(way: Way) async throws {
    let stand = try await Self.stand()
    let large = try await stand.outbox.enqueue(Self.request("/large", way))
    let behind = try await stand.outbox.enqueue(Request("POST", "/behind"))
    try Self.change(try Self.file(stand), at: way.byteCount - 1)
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: large).word == "refused")
    #expect(await stand.outbox.item(large)?.lastError?.id == "body-lost")
    #expect(stand.paths.isEmpty)
    try await stand.outbox.resolve(large, .retry(Change(request: Self.request("/large", way))))
    #expect(try await stand.ending(of: behind).word == "delivered")
    #expect(stand.relay.delivered.map(\.body) == [Self.bytes(way.byteCount), []])
    await stand.outbox.close()
  }

  @Test("is known by the part that it is in, and an upload goes on once that is right again")
  func resumed() async throws {
    let stand = try await Self.stand()
    let id = try await stand.outbox.enqueue(Self.request("/large", .uploaded))
    let path = try Self.file(stand)
    try Self.change(path, at: 1_500_000)
    let sent = Task { [outbox = stand.outbox] in
      var most: Int64 = 0
      for await event in outbox.events() {
        if case .sending(_, let progress) = event { most = max(most, progress.sent) }
        if case .errorRecorded = event { return most }
      }
      return most
    }
    await Task.yield()
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: id).word == "refused")
    #expect(await sent.value == FileSums.blockBytes * 5)
    try Self.change(path, at: 1_500_000)
    try await stand.outbox.resolve(id, .retry())
    #expect(try await stand.ending(of: id).word == "delivered")
    #expect(stand.relay.delivered.map(\.body) == [Self.bytes(2_000_000)])
    await stand.outbox.close()
  }

  @Test(
    "is not mixed with the body that takes its place, of which the relay has the beginning",
    arguments: [OnRefusal.block, .skip], [2_000_000, 1_700_000, 700])
  func replaced(onRefusal: OnRefusal, byteCount: Int) async throws {
    let stand = try await Self.stand { $0.lanes[.default]?.onRefusal = onRefusal }
    let id = try await stand.outbox.enqueue(
      Self.request("/large", .uploaded), Options(onRefusal: onRefusal))
    try Self.change(try Self.file(stand), at: 1_500_000)
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: id).word == "refused")
    let other = [UInt8](repeating: 9, count: byteCount)
    let next = try await stand.reopened()
    try await next.outbox.resolve(
      id, .retry(Change(request: Request("POST", "/other", .bytes(other, type: "a/b")))))
    try await next.outbox.resume()
    #expect(try await next.ending(of: id).word == "delivered")
    // Showing where they differ would take long.
    #expect(next.relay.delivered.map { $0.body == other } == [true])
    await next.outbox.close()
  }

  @Test("holds up no lane that skips, whose number at the relay is void")
  func skipped() async throws {
    let stand = try await Self.stand { $0.lanes[.default] = .skipping }
    let large = try await stand.outbox.enqueue(Self.request("/large", .uploaded))
    let behind = try await stand.outbox.enqueue(Request("POST", "/behind"))
    try Self.change(try Self.file(stand), at: 0)
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: behind).word == "delivered")
    #expect(await stand.outbox.item(large)?.lastError?.id == "body-lost")
    await stand.outbox.close()
  }

  @Test("goes no further to an upstream than to the block that differs")
  func direct() async throws {
    let upstream = ReadingUpstream()
    let stand = try await Self.stand { settings in
      settings.destination = .direct(base: "http://upstream")
      settings.transport = upstream
    }
    let id = try await stand.outbox.enqueue(Self.request("/large", .uploaded))
    try Self.change(try Self.file(stand), at: Int(FileSums.blockBytes) + 7)
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: id).word == "refused")
    #expect(await stand.outbox.item(id)?.lastError?.id == "body-lost")
    #expect(upstream.bytes == Array(Self.bytes(2_000_000)[..<Int(FileSums.blockBytes)]))
    await stand.outbox.close()
  }

  @Test(
    "is known however the file came to the outbox, also where the app has kept it",
    arguments: [FileMode.copy, .move, .link])
  func modes(mode: FileMode) async throws {
    let stand = try await Self.stand()
    let source = "\(stand.folder.path)/source"
    for number in 1...2 {
      Platform.remove(source)
      try Platform.write(Self.bytes(700_000), toNew: source)
      try await stand.outbox.enqueue(
        Request("POST", "/\(number)", .file(path: source, type: "a/b", mode: mode)),
        Options(lane: Lane("\(number)")))
      if number == 1 { try Self.change(try Self.file(stand), at: 300_000) }
    }
    let ids = await stand.outbox.items().map(\.id)
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: ids[0]).word == "refused")
    #expect(try await stand.ending(of: ids[1]).word == "delivered")
    #expect(stand.relay.delivered.map(\.body) == [Self.bytes(700_000)])
    await stand.outbox.close()
  }

  /// Changes a closed outbox's database behind its back.
  private static func change(_ stand: Stand, _ sql: String) throws {
    let path = OutboxFile.path(in: "\(stand.folder.path)/outbox")
    try OutboxFile(path: path, durability: .ordered).connection.execute(sql)
  }

  @Test("cannot be told where it was kept without checksums, and goes as it is")
  func withoutSums() async throws {
    let stand = try await Self.stand()
    let id = try await stand.outbox.enqueue(Self.request("/large", .posted))
    await stand.outbox.close()
    // The checksum of the row, and that of the file's one block, each behind its mark.
    try Self.change(stand, "UPDATE content SET request = substr(request, 1, length(request) - 24)")
    try Self.change(try Self.file(stand), at: 5)
    let next = try await stand.reopened()
    try await next.outbox.resume()
    #expect(try await next.ending(of: id).word == "delivered")
    #expect(next.relay.delivered.first?.body.count == 100_000)
    await next.outbox.close()
  }

  @Test(
    "is not taken for one without checksums where these were changed",
    arguments: ["x'FEFEFEFE', x'FEFEFEFF'", "x'FEFEFEFE', x'FFFFFFFF'", "x'FFFFFFFF', x'FEFEFEFE'"])
  func changedSums(_ places: String) async throws {
    let stand = try await Self.stand()
    let id = try await stand.outbox.enqueue(Self.request("/large", .posted))
    await stand.outbox.close()
    try Self.change(
      stand, "UPDATE content SET request = CAST(replace(request, \(places)) AS BLOB)")
    let next = try await stand.reopened()
    try await next.outbox.resume()
    #expect(try await next.ending(of: id).word == "refused")
    #expect(next.paths.isEmpty)
    await next.outbox.close()
  }

  @Test("is known as such after the other items were saved from a damaged database")
  func salvaged() async throws {
    let stand = try await Self.stand()
    let id = try await stand.outbox.enqueue(Self.request("/large", .uploaded))
    await stand.outbox.close()
    try Self.change(try Self.file(stand), at: 5)
    try Platform.write([], toNew: OutboxFile.mark(in: "\(stand.folder.path)/outbox"))
    let next = try await stand.reopened()
    try await next.outbox.resume()
    #expect(try await next.ending(of: id).word == "refused")
    #expect(next.paths.isEmpty)
    await next.outbox.close()
  }

  @Test("is not held against a relay that signs for the right one")
  func evidence() async throws {
    let stand = try await CustodyStand.open(custody: .accepted) { settings in
      settings.lanes[.default]?.evidence = true
    }
    stand.relay.evidenceLanes = ["default"]
    let id = try await stand.outbox.enqueue(Self.request("/large", .posted))
    _ = try await stand.receipt(of: 1)
    let path = try Self.file(stand.stand)
    try Self.change(path, at: 5)
    stand.relay.isUpstreamAway = false
    #expect(try await stand.fault() == .bodyUnreadable(1))
    try Self.change(path, at: 5)
    await stand.outbox.wake()
    #expect(try await stand.stand.ending(of: id).word == "delivered")
    await stand.outbox.close()
  }

  @Test("leaves behind no digest of what must not be sent")
  func digest() async throws {
    let stand = try await CustodyStand.open { $0.startPaused = true }
    let id = try await stand.outbox.enqueue(Self.request("/large", .uploaded))
    let path = try Self.file(stand.stand)
    try Self.change(path, at: 5)
    try await stand.outbox.resume()
    #expect(try await stand.stand.ending(of: id).word == "refused")
    try Self.change(path, at: 5)
    try await stand.outbox.resolve(id, .retry())
    _ = try await stand.receipt(of: 1)
    await stand.outbox.close()
  }
}

/// An upstream that notes what it gets of a body's file.
private final class ReadingUpstream: Transport {
  private let got = Mutex<[UInt8]>([])

  var bytes: [UInt8] { got.withLock { $0 } }

  func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    guard case .file(let stretch) = exchange.body else {
      return Response(status: 400, headers: [], body: [])
    }
    var place: Int64 = 0
    while place < stretch.count {
      let piece = try stretch.piece(at: place)
      got.withLock { $0 += piece }
      place += Int64(piece.count)
    }
    return Response(status: 200, headers: [], body: [])
  }
}

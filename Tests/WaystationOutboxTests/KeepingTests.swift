import Glibc
import SQLite
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Keeping what was handed over", .timeLimit(.minutes(5)))
struct KeepingTests {
  @Test("a key that is known is the same item, while it waits and after it has ended")
  func sameKey() async throws {
    let stand = try await Stand()
    let options = Options(key: "order-7")
    let id = try await stand.outbox.enqueue(Request("POST", "/orders"), options)
    #expect(try await stand.outbox.enqueue(Request("POST", "/orders"), options) == id)
    _ = try await stand.ending(of: id)
    #expect(try await stand.outbox.enqueue(Request("POST", "/orders"), options) == id)
    #expect(stand.paths == ["/orders"])
    await #expect(throws: EnqueueError.keyConflict(id)) {
      try await stand.outbox.enqueue(
        Request("POST", "/orders"), Options(key: "order-7", lane: "other"))
    }
    await stand.outbox.close()
  }

  @Test("another request under a known key is refused, before its end and after")
  func otherRequest() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let options = Options(key: "sale-311")
    func sale(_ cents: Int) -> Request { Request("POST", "/sales", .json("{\"cents\":\(cents)}")) }
    let id = try await stand.outbox.enqueue(sale(1), options)
    await #expect(throws: EnqueueError.keyConflict(id)) {
      try await stand.outbox.enqueue(sale(2), options)
    }
    // An app that starts anew may know of the change already, or not yet.
    try await stand.outbox.edit(id, Change(request: sale(2)))
    for cents in 1...2 {
      #expect(try await stand.outbox.enqueue(sale(cents), options) == id)
    }
    let next = try await stand.reopened { $0.startPaused = false }
    try await next.outbox.resume()
    #expect(try await next.ending(of: id).word == "delivered")
    #expect(try await next.outbox.enqueue(sale(2), options) == id)
    await #expect(throws: EnqueueError.keyConflict(id)) {
      try await next.outbox.enqueue(sale(3), options)
    }
    #expect(next.relay.delivered.map(\.body) == [Array("{\"cents\":2}".utf8)])
    await next.outbox.close()
  }

  @Test("a request that the relay has changed is the same item's, though its body is gone here")
  func changedAtRelay() async throws {
    let stand = try await Stand { $0.lanes[.default]?.custody = .accepted }
    stand.relay.isUpstreamAway = true
    let options = Options(key: "sale-311")
    let id = try await stand.outbox.enqueue(Request("POST", "/1"), options)
    while await stand.outbox.item(id)?.isAtRelay != true { await Task.yield() }
    try await stand.outbox.edit(id, Change(request: Request("POST", "/2")))
    for number in 1...2 {
      #expect(try await stand.outbox.enqueue(Request("POST", "/\(number)"), options) == id)
    }
    await #expect(throws: EnqueueError.keyConflict(id)) {
      try await stand.outbox.enqueue(Request("POST", "/3"), options)
    }
    await stand.outbox.close()
  }

  @Test("a batch is kept whole or not at all")
  func batch() async throws {
    let stand = try await Stand { settings in
      settings.limits.items = 3
      settings.startPaused = true
    }
    let four = (1...4).map { (Request("POST", "/\($0)"), Options()) }
    await #expect(throws: EnqueueError.full(.items)) { try await stand.outbox.enqueue(four) }
    #expect(await stand.outbox.items().isEmpty)
    #expect(try await stand.outbox.enqueue(Array(four.prefix(3))).count == 3)
    #expect(await stand.outbox.status()?.waiting == 3)
    await stand.outbox.close()
  }

  @Test("at a limit new items are refused, or the oldest of the named lanes make room")
  func full() async throws {
    let refusing = try await Stand { settings in
      settings.limits.bytes = 1000
      settings.startPaused = true
    }
    try await refusing.outbox.enqueue(Request("POST", "/a", .bytes(.zeros(700), type: "x/y")))
    await #expect(throws: EnqueueError.full(.bytes)) {
      try await refusing.outbox.enqueue(Request("POST", "/b", .bytes(.zeros(700), type: "x/y")))
    }
    await #expect(throws: EnqueueError.tooLarge) {
      try await refusing.outbox.enqueue(Request("POST", "/c", .bytes(.zeros(2000), type: "x/y")))
    }
    await refusing.outbox.close()
    let dropping = try await Stand { settings in
      settings.limits.items = 3
      settings.limits.whenFull = .dropOldest(lanes: ["telemetry"])
      settings.startPaused = true
    }
    try await dropping.outbox.enqueue(Request("POST", "/alarm"), Options(lane: "alarms"))
    for number in 1...4 {
      try await dropping.outbox.enqueue(
        Request("POST", "/\(number)"), Options(lane: "telemetry"))
    }
    #expect(await dropping.outbox.items(.lane("telemetry")).count == 2)
    #expect(await dropping.outbox.items(.lane("alarms")).count == 1)
    await dropping.outbox.close()
  }

  @Test("what of the disk is reserved for the outbox's own work is given to no item")
  func reserve() async throws {
    let stand = try await Stand { $0.limits.reserveBytes = .max }
    await #expect(throws: EnqueueError.full(.disk)) {
      try await stand.outbox.enqueue(Request("POST", "/a"))
    }
    await stand.outbox.close()
    let next = try await stand.reopened { $0.limits.reserveBytes = 0 }
    let id = try await next.outbox.enqueue(Request("POST", "/a"))
    #expect(try await next.ending(of: id).word == "delivered")
    await next.outbox.close()
  }

  @Test("an item's number is never given again, after a crash that forgot the item as well")
  func numbers() throws {
    let folder = try TemporaryFolder()
    var limits = Limits()
    limits.endings = 0
    let settings = CoreSettings(
      destination: .relay(base: "http://relay", client: "device"), lanes: [:], collections: [:],
      limits: limits, sending: Sending(), asksReadiness: false, bodies: folder.path)
    var last: Int64 = 0
    // The process ends each time, and nobody has closed the outbox.
    for life in 1...3 {
      let core = try OutboxCore(
        OutboxFile(path: "\(folder.path)/outbox.sqlite3", durability: .full), settings,
        bootID: "boot", incarnation: "device", random: { 7 })
      for number in 1...300 {
        try core.begin()
        let item = NewItem(
          key: "\(life)-\(number)", lane: "a",
          request: KeptRequest(upstream: nil, method: "POST", path: "/a", headers: []),
          body: .none)
        let id = try core.enqueue([item], at: Moment(wallMs: 0, monotonicMs: 0, boot: 1)).get()[0]
        #expect(id.raw > last)
        last = id.raw
        _ = try core.cancel(id)
        _ = try core.commit()
      }
      #expect(try core.file.item(last) == nil && core.file.ending(last) == nil)
    }
  }

  @Test("what cannot be sent is refused at once, in words")
  func invalid() async throws {
    let stand = try await Stand()
    for (request, options) in [
      (Request("POST", "no-slash"), Options()), (Request("POST", "/../up"), Options()),
      (Request("CONNECT", "/a"), Options()),
      (Request("POST", "/a", headers: [("Host", "other")]), Options()),
      (Request("POST", "/a", headers: [("X-A", "line\r\nbreak")]), Options()),
      (Request("POST", "/a"), Options(lane: "")),
      (Request("POST", "/a"), Options(key: "with blank")),
    ] {
      await #expect(throws: EnqueueError.self) {
        try await stand.outbox.enqueue(request, options)
      }
    }
    await stand.outbox.close()
  }

  @Test("a large body has a file of its own, and the file goes when nobody needs it any more")
  func files() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let large = [UInt8](repeating: 0x61, count: 300_000)
    let kept = try await stand.outbox.enqueue(Request("POST", "/a", .bytes(large, type: "x/y")))
    let gone = try await stand.outbox.enqueue(Request("POST", "/b", .bytes(large, type: "x/y")))
    let bodies = "\(stand.folder.path)/outbox/bodies"
    #expect(Platform.names(in: bodies).count == 2)
    try await stand.outbox.cancel(gone)
    let next = try await stand.reopened()
    #expect(Platform.names(in: bodies).count == 1)
    try await next.outbox.resume()
    #expect(try await next.ending(of: kept).word == "delivered")
    #expect(next.relay.delivered.map(\.body) == [large])
    await next.outbox.close()
    #expect(Platform.names(in: bodies).isEmpty)
  }

  @Test("a second process is told who has the outbox, as far as that can be read")
  func owned() async throws {
    let stand = try await Stand()
    await #expect(throws: OutboxError.owned(pid: getpid())) {
      _ = try await Outbox.open(stand.settings)
    }
    let lock = "\(stand.settings.folder)/lock"
    Platform.remove(lock)
    // Twice: the first try must not make a lock of its own.
    for _ in 1...2 {
      await #expect(throws: OutboxError.owned(pid: nil)) {
        _ = try await Outbox.open(stand.settings)
      }
    }
    await stand.outbox.close()
    let next = try await stand.reopened()
    await #expect(throws: OutboxError.owned(pid: getpid())) {
      _ = try await Outbox.open(stand.settings)
    }
    await next.outbox.close()
  }

  @Test("tables of a newer version are left as they are")
  func newer() async throws {
    let stand = try await Stand()
    await stand.outbox.close()
    let path = OutboxFile.path(in: "\(stand.folder.path)/outbox")
    do {
      let file = try OutboxFile(path: path, durability: .ordered)
      try file.connection.execute("CREATE TABLE later (id INTEGER); PRAGMA user_version = 99")
    }
    await #expect(throws: OutboxError.newerSchema(99)) { _ = try await stand.reopened() }
  }

  @Test("a damaged database is set aside, and what can be read of it goes on")
  func damaged() async throws {
    let stand = try await Stand { $0.startPaused = true }
    for number in 1...200 {
      try await stand.outbox.enqueue(
        Request("POST", "/\(number)", .bytes(.zeros(500), type: "x/y")))
    }
    await stand.outbox.close()
    let path = OutboxFile.path(in: "\(stand.folder.path)/outbox")
    try Damage.overwrite(path, at: 50 * 4096, count: 2 * 4096)
    try Platform.write([], toNew: OutboxFile.mark(in: "\(stand.folder.path)/outbox"))
    let next = try await stand.reopened()
    let told = await next.outbox.events().first { event -> String? in
      if case .damaged(let words) = event { words } else { nil }
    }
    #expect(told?.contains("damaged-1") == true)
    let left = await next.outbox.items(limit: 1000).count
    #expect(left > 100 && left < 200, "\(left)")
    try await next.outbox.resume()
    let report = await next.outbox.run(within: .seconds(60))
    #expect(report.delivered.count == left)
    await next.outbox.close()
  }

  @Test("damage that opening meets is salvaged at once")
  func damagedLater() async throws {
    let stand = try await Stand { $0.startPaused = true }
    for number in 1...500 {
      try await stand.outbox.enqueue(
        Request("POST", "/\(number)", .bytes(.zeros(500), type: "x/y")))
    }
    await stand.outbox.close()
    let folder = "\(stand.folder.path)/outbox"
    try Damage.overwrite(OutboxFile.path(in: folder), at: 40_000, count: 200_000)
    let next = try await stand.reopened()
    let told = await next.outbox.events().first { event -> String? in
      if case .damaged(let words) = event { words } else { nil }
    }
    #expect(told?.contains("damaged-1") == true)
    let left = await next.outbox.items(limit: 1000).count
    #expect(left < 500)
    try await next.outbox.enqueue(Request("POST", "/after"))
    #expect(await next.outbox.items(limit: 1000).count == left + 1)
    await next.outbox.close()
  }

  @Test("a database that cannot be opened just now is not taken for lost")
  func unreadable() async throws {
    let stand = try await Stand()
    await stand.outbox.close()
    let folder = "\(stand.folder.path)/outbox"
    let path = OutboxFile.path(in: folder)
    // A folder in its place cannot be opened, as a disk that does not answer.
    try Platform.move(path, to: "\(folder)/kept")
    try Platform.createFolder(path)
    try Platform.write([], toNew: OutboxFile.mark(in: folder))
    await #expect(throws: OutboxError.self) { _ = try await stand.reopened() }
    #expect(!Platform.names(in: folder).contains { $0.contains("damaged-") })
  }

  @Test("tables of a newer version are not salvaged either")
  func newerMarked() async throws {
    let stand = try await Stand()
    await stand.outbox.close()
    let folder = "\(stand.folder.path)/outbox"
    do {
      let file = try OutboxFile(path: OutboxFile.path(in: folder), durability: .ordered)
      try file.connection.execute("CREATE TABLE later (id INTEGER); PRAGMA user_version = 99")
    }
    try Platform.write([], toNew: OutboxFile.mark(in: folder))
    await #expect(throws: OutboxError.newerSchema(99)) { _ = try await stand.reopened() }
    #expect(!Platform.names(in: folder).contains { $0.contains("damaged-") })
  }

  @Test("other processes drop items into the mailbox, and each comes once")
  func mailbox() async throws {
    let folder = try TemporaryFolder()
    let box = Mailbox("\(folder.path)/mail")
    try box.drop(Request("POST", "/1", .json("{}")), Options(tag: "a"))
    try box.drop(Request("POST", "/2", headers: [("X-A", "b")]))
    try Platform.write(Array("no item".utf8), toNew: "\(folder.path)/mail/zzz")
    let stand = try await Stand { $0.mailbox = "\(folder.path)/mail" }
    let refused = await stand.outbox.events().first { event -> String? in
      if case .damaged(let words) = event { words } else { nil }
    }
    await stand.outbox.wake()
    #expect(refused?.contains("it is no item") ?? true)
    #expect(await stand.outbox.run(within: .seconds(60)).failed.isEmpty)
    #expect(stand.paths == ["/1", "/2"])
    #expect(Platform.names(in: "\(folder.path)/mail") == ["refused"])
    await stand.outbox.close()
  }
}

extension [UInt8] {
  /// So many zeros.
  static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
}

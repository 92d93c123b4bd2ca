import Glibc
import RelayCore
import SQLite
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

/// What a bad disk, another process or a person has left in an outbox's folders.
@Suite("Files and rows that no outbox has written", .timeLimit(.minutes(5)))
struct StrangeFileTests {
  @Test("in the mailbox are set aside, without waiting, and the items come")
  func mailbox() async throws {
    let folder = try TemporaryFolder()
    let mail = "\(folder.path)/mail"
    try Mailbox(mail).drop(Request("POST", "/1"))
    try #require(mkfifo("\(mail)/0-pipe", 0o600) == 0)
    try #require(symlink("/dev/zero", "\(mail)/0-link") == 0)
    // A time that no clock has.
    let early = """
      {"version":1,"key":"early","lane":"default","method":"POST","path":"/2","headers":[],\
      "expiresMs":5000,"hold":false,"at":-9223372036854775808}
      """
    try Platform.write(Array("\(early)\n".utf8), toNew: "\(mail)/9-early")
    let stand = try await Stand { $0.mailbox = mail }
    await stand.outbox.wake()
    while Platform.names(in: mail) != ["refused"] { await Task.yield() }
    #expect(Platform.names(in: "\(mail)/refused") == ["0-link", "0-pipe"])
    _ = await stand.outbox.run(within: .seconds(60))
    #expect(stand.paths == ["/1"])
    await stand.outbox.close()
  }

  @Test(
    "with numbers that are none trap nobody, and the items go on",
    arguments: [
      ("item", "not_before"), ("item", "bytes"), ("item", "body_bytes"), ("item", "attempts"),
      ("item", "monotonic"), ("item", "expires"), ("lane", "bytes"), ("lane", "items"),
      ("lane", "line"), ("lane", "next"),
    ], [Int64.max, Int64.min])
  func numbers(_ place: (table: String, column: String), _ value: Int64) async throws {
    let stand = try await Stand { $0.startPaused = true }
    let ids = try await stand.outbox.enqueue((1...3).map { (Request("POST", "/\($0)"), Options()) })
    await stand.outbox.close()
    let path = OutboxFile.path(in: "\(stand.folder.path)/outbox")
    try OutboxFile(path: path, durability: .ordered).connection.execute(
      "UPDATE \(place.table) SET \(place.column) = \(value) WHERE id = 1")
    stand.relay.cut()
    let next = try await stand.reopened()
    let there = await next.outbox.items().map(\.id)
    // What has expired for ages may be over by now.
    let isOver = place.column == "expires" && value < 0 && there == Array(ids.dropFirst())
    #expect(there == ids || isOver)
    stand.relay.mend()
    try await next.outbox.resume()
    if ["not_before", "body_bytes"].contains(place.column), value > 0 {
      // Nobody can say any more when that was to be, or what belongs to it.
      try await next.outbox.cancel(ids[0])
    }
    #expect(try await next.ending(of: ids[2]).word == "delivered")
    await next.outbox.close()
  }

  @Test("a log that somebody has removed meanwhile takes nothing more")
  func log() async throws {
    let clock = ManualClock()
    let stand = try await Stand { settings in
      settings.startPaused = true
      settings.clock = clock
    }
    try await stand.outbox.enqueue(Request("POST", "/1"))
    clock.advance(by: .seconds(1))
    try await stand.outbox.enqueue(Request("POST", "/2"))
    Platform.remove(OutboxFile.path(in: "\(stand.folder.path)/outbox") + "-wal")
    clock.advance(by: .seconds(1))
    await #expect(throws: EnqueueError.self) {
      try await stand.outbox.enqueue(Request("POST", "/3"))
    }
    await stand.outbox.close()
  }

  @Test("a body that is gone holds up nobody in a lane that skips, also at the relay")
  func bodyGone() async throws {
    let stand = try await Stand { settings in
      settings.startPaused = true
      var lane = LaneSettings()
      lane.onRefusal = .skip
      settings.lanes[.default] = lane
    }
    let ids = try await stand.outbox.enqueue((1...3).map { (Request("POST", "/\($0)"), Options()) })
    // Given out, as by a post of which nothing has arrived.
    try await stand.outbox.store.run(changes: false) { core, _ throws(StoreError) in
      for id in ids { if let item = try core.file.item(id.raw) { _ = try core.seal(item) } }
      try core.file.deleteContent(of: ids[0].raw)
    }
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: ids[0]).word == "refused")
    #expect(try await stand.ending(of: ids[2]).word == "delivered")
    #expect(stand.paths == ["/2", "/3"])
    await stand.outbox.close()
  }
}

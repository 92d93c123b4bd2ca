import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Lanes, as WhenReachable and Wendy have their queues", .timeLimit(.minutes(5)))
struct LaneTests {
  @Test("the oldest goes first, and a new one makes all before it go")
  func order() async throws {
    let stand = try await Stand()
    stand.relay.cut()
    var ids: [Item.ID] = []
    for number in 1...20 {
      ids.append(try await stand.outbox.enqueue(Request("POST", "/\(number)")))
    }
    stand.relay.mend()
    ids.append(try await stand.outbox.enqueue(Request("POST", "/21")))
    for id in ids { _ = try await stand.ending(of: id) }
    #expect(stand.paths == (1...21).map { "/\($0)" })
    await stand.outbox.close()
  }

  @Test("a refused item blocks its lane, and no other, until somebody resolves it")
  func blocks() async throws {
    let stand = try await Stand()
    stand.relay.refuse("/bad")
    let bad = try await stand.outbox.enqueue(Request("POST", "/bad"), Options(lane: "a"))
    let behind = try await stand.outbox.enqueue(Request("POST", "/behind"), Options(lane: "a"))
    let other = try await stand.outbox.enqueue(Request("POST", "/other"), Options(lane: "b"))
    #expect(try await stand.ending(of: other).word == "delivered")
    #expect(try await stand.ending(of: bad).word == "refused")
    #expect(await stand.outbox.items(.needsAttention).map(\.id) == [bad])
    #expect(stand.paths == ["/other"])
    try await stand.outbox.resolve(bad, .retry(Change(request: Request("POST", "/good"))))
    #expect(try await stand.ending(of: behind).word == "delivered")
    #expect(stand.paths == ["/other", "/good", "/behind"])
    await stand.outbox.close()
  }

  @Test("a refused item is given up, and its lane goes on, where the settings say so")
  func skips() async throws {
    let stand = try await Stand { $0.lanes["a"] = .skipping }
    stand.relay.refuse("/bad")
    let bad = try await stand.outbox.enqueue(Request("POST", "/bad"), Options(lane: "a"))
    let behind = try await stand.outbox.enqueue(Request("POST", "/behind"), Options(lane: "a"))
    #expect(try await stand.ending(of: behind).word == "delivered")
    #expect(try await stand.ending(of: bad).word == "refused")
    #expect(await stand.outbox.status()?.needsAttention == 0)
    await stand.outbox.close()
  }

  @Test("an item that the relay itself refuses leaves no number for which others wait")
  func refusedByRelay() async throws {
    let stand = try await Stand { $0.lanes[.default] = .skipping }
    stand.relay.cut()
    let bad = try await stand.outbox.enqueue(Request("POST", "/invalid"))
    let good = try await stand.outbox.enqueue(Request("POST", "/good"))
    stand.relay.mend()
    #expect(try await stand.ending(of: bad).word == "refused")
    #expect(try await stand.ending(of: good).word == "delivered")
    await stand.outbox.close()
  }

  @Test("the newest goes first in a lane for fresh data")
  func latest() async throws {
    let stand = try await Stand { settings in
      var lane = LaneSettings()
      lane.order = .latest
      settings.lanes["live"] = lane
      settings.startPaused = true
    }
    var ids: [Item.ID] = []
    for number in 1...3 {
      ids.append(
        try await stand.outbox.enqueue(Request("POST", "/\(number)"), Options(lane: "live")))
    }
    try await stand.outbox.resume()
    for id in ids { _ = try await stand.ending(of: id) }
    #expect(stand.paths == ["/3", "/2", "/1"])
    await stand.outbox.close()
  }

  @Test("an item behind thousands that are held goes, where the lane has no strict order")
  func behindMany() async throws {
    let stand = try await Stand { settings in
      var lane = LaneSettings()
      lane.order = .latest
      settings.lanes["live"] = lane
      settings.startPaused = true
    }
    let old = try await stand.outbox.enqueue(Request("POST", "/old"), Options(lane: "live"))
    let held = (1...3000).map { (Request("POST", "/\($0)"), Options(lane: "live", hold: true)) }
    try await stand.outbox.enqueue(held)
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: old).word == "delivered")
    #expect(stand.paths == ["/old"])
    await stand.outbox.close()
  }

  @Test("a later item takes the place of one of the same name that waits")
  func coalesces() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let old = try await stand.outbox.enqueue(
      Request("PUT", "/volume", .json("1")), Options(coalesce: "volume"))
    let new = try await stand.outbox.enqueue(
      Request("PUT", "/volume", .json("2")), Options(coalesce: "volume"))
    #expect(try await stand.ending(of: old).word == "cancelled")
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: new).word == "delivered")
    #expect(stand.relay.delivered.map(\.body) == [Array("2".utf8)])
    await stand.outbox.close()
  }

  @Test("an item on hold waits until it is released, and a run leaves it out")
  func held() async throws {
    let stand = try await Stand()
    let id = try await stand.outbox.enqueue(Request("POST", "/held"), Options(hold: true))
    let behind = try await stand.outbox.enqueue(Request("POST", "/behind"))
    let report = await stand.outbox.run()
    #expect(report.skipped.map(\.0) == [id, behind])
    #expect(report.skipped.map(\.1) == [.held, .behind(id)])
    try await stand.outbox.release(id)
    #expect(try await stand.ending(of: behind).word == "delivered")
    #expect(stand.paths == ["/held", "/behind"])
    await stand.outbox.close()
  }

  @Test("a paused lane keeps what it has, over a start of the app, and others go on")
  func paused() async throws {
    let stand = try await Stand()
    try await stand.outbox.pause("a")
    let id = try await stand.outbox.enqueue(Request("POST", "/a"), Options(lane: "a"))
    let next = try await stand.reopened()
    let other = try await next.outbox.enqueue(Request("POST", "/b"), Options(lane: "b"))
    #expect(try await next.ending(of: other).word == "delivered")
    #expect(await next.outbox.run(.lane("a")).skipped.map(\.1) == [.paused])
    try await next.outbox.resume("a")
    #expect(try await next.ending(of: id).word == "delivered")
    await next.outbox.close()
  }
}

import EventLoop
import RelayCore
import Synchronization
import Testing

@testable import RelayServer

@Suite("the requests that a relay answers before it gives its store up", .timeLimit(.minutes(5)))
struct RequestsUnderWayTests {
  private let loop: EventLoop
  private let underWay = RequestsUnderWay()
  /// Longer than the test may take.
  private let everMs: Int64 = 600_000

  init() throws { loop = try EventLoop(name: "test") }

  @Test("those that began before are waited for, and later ones are not")
  func earlier() async throws {
    var first = underWay.begin()
    let (events, note) = AsyncStream.makeStream(of: String.self)
    let waiting = Task { [underWay, loop, everMs] in
      await underWay.finishEarlier(withinMs: everMs, on: loop)
      note.yield("over")
    }
    // Once it counts those that begin as later ones, the wait has begun.
    var later = try #require(underWay.begin())
    while later.turn == .earlier {
      await Task.yield()
      later = try #require(underWay.begin())
    }
    #expect(first?.turn == .earlier)
    note.yield("ended")
    first = nil
    await waiting.value
    note.finish()
    var seen: [String] = []
    for await event in events { seen.append(event) }
    #expect(seen == ["ended", "over"] && later.turn == .later)
  }

  @Test("none begins any more once it is closed, and all that have begun are waited for")
  func closed() async throws {
    var stays = try [#require(underWay.begin()), #require(underWay.begin())]
    async let end: Void = underWay.close(withinMs: everMs, on: loop)
    while !underWay.isClosed { await Task.yield() }
    #expect(underWay.begin() == nil)
    #expect(stays.count == 2)
    stays = []
    await end
  }

  @Test("a wait ends in time, though a request goes on")
  func slow() async throws {
    let stay = try #require(underWay.begin())
    await underWay.close(withinMs: 1, on: loop)
    #expect(stay.turn == .earlier)
  }

  @Test("with none under way there is nothing to wait for")
  func none() async throws {
    await underWay.finishEarlier(withinMs: everMs, on: loop)
    await underWay.close(withinMs: everMs, on: loop)
  }

  @Test("a bell wakes those who wait, and nobody waits for a stroke that has come before")
  func bell() async throws {
    let bell = ChangeBell(on: loop)
    let strokes = bell.strokes
    bell.ring()
    await bell.wait(after: strokes, atMostMs: everMs)
    let now = bell.strokes
    async let woken: Void = bell.wait(after: now, atMostMs: everMs)
    bell.ring()
    await woken
    await bell.wait(after: bell.strokes, atMostMs: 1)
  }
}

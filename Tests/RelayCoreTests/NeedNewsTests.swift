import RelayCore
import Testing

@Suite("Telling of needs")
struct NeedNewsTests {
  private typealias Receiver = NeedNews.Receiver

  private let alarm = Receiver(upstream: "alarm", path: "/a")

  /// What a paused upstream needs.
  private func need(_ name: String) -> Need {
    var facts = NeedFacts(now: WallTime(millisecondsSinceEpoch: 0))
    var upstream = NeedFacts.Upstream(name: name)
    upstream.isPaused = true
    upstream.waiting = 1
    facts.upstreams = [upstream]
    return NeedRules(facts, growth: NeedGrowth()).needs()[0]
  }

  private func time(_ milliseconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).adding(milliseconds: milliseconds)
  }

  /// Looks, and hands over what is to be told.
  private func told(
    _ news: inout NeedNews, _ list: [Need], to receiver: Receiver?, atMs: Int64
  ) -> NeedNews.Message? {
    let message = news.message(list, to: receiver, at: time(atMs))
    if let message, let receiver { news.handedOver(message, to: receiver, at: time(atMs)) }
    return message
  }

  @Test("however often the list is looked at, messages keep their distance, the last with it all")
  func pace() {
    var random = SplitMix64(seed: 6)
    for _ in 0..<200 {
      var news = NeedNews()
      var (now, count) = (Int64(0), 0)
      var lastAt: Int64?
      var lastNeeds: [Need] = []
      var list: [Need] = []
      for look in 0..<200 {
        now += look == 199 ? NeedNews.periodMs : Int64.random(in: 1...700, using: &random)
        if look < 199, Bool.random(using: &random) {
          list = ["a", "b", "c"].filter { _ in Bool.random(using: &random) }.map { need($0) }
        }
        guard let message = told(&news, list, to: alarm, atMs: now) else { continue }
        #expect(now - (lastAt ?? -NeedNews.periodMs) >= NeedNews.periodMs)
        (lastAt, lastNeeds) = (now, message.needs)
        count += 1
      }
      #expect(lastNeeds == list && count > 5)
    }
  }

  @Test("what began and was over again between two messages is not told")
  func between() {
    var news = NeedNews()
    _ = told(&news, [], to: alarm, atMs: 0)
    #expect(told(&news, [need("a")], to: alarm, atMs: 1000) == nil)
    #expect(told(&news, [], to: alarm, atMs: 9000) == nil)
    let began = told(&news, [need("b")], to: alarm, atMs: 9001)
    #expect(began?.occasion == .changed && began?.began == [need("b")])
  }

  @Test("a start is told as one, and a reload that names another receiver is not")
  func occasions() throws {
    var news = NeedNews()
    #expect(told(&news, [need("a")], to: nil, atMs: 0) == nil)
    let added = try #require(told(&news, [need("a")], to: alarm, atMs: 1))
    #expect(added.occasion == .configured && added.needs == [need("a")])
    #expect(
      added.sentence
        == "what needs somebody is told here from now on; one thing needs you: "
        + need("a").title)
    let moved = Receiver(upstream: "alarm", path: "/b")
    let second = try #require(told(&news, [need("a")], to: moved, atMs: 6000))
    #expect(second.occasion == .configured && second.began == [need("a")])
    _ = told(&news, [need("a")], to: nil, atMs: 12_000)
    #expect(told(&news, [], to: moved, atMs: 18_000)?.occasion == .configured)

    var fresh = NeedNews()
    let start = try #require(told(&fresh, [], to: alarm, atMs: 0))
    #expect(start.occasion == .started && start.sentence == "the relay was started")
  }

  @Test("what could not be handed over is part of the next message, and the first stays the first")
  func notStored() {
    var news = NeedNews()
    let first = news.message([], to: alarm, at: time(0))
    #expect(first?.occasion == .started)
    #expect(told(&news, [need("a")], to: alarm, atMs: 1)?.occasion == .started)
    let lost = news.message([need("b")], to: alarm, at: time(6000))
    #expect(lost?.began == [need("b")])
    let next = news.message([need("c")], to: alarm, at: time(6001))
    #expect(next?.began == [need("c")] && next?.ended == [need("a")])
  }

  @Test("what is about the receiver itself is not told to it")
  func ownTrouble() {
    var news = NeedNews()
    #expect(told(&news, [], to: alarm, atMs: 0)?.needs == [])
    #expect(told(&news, [need("alarm")], to: alarm, atMs: 6000) == nil)
  }
}

import RelayCore
import Testing

@Suite("Rules by name")
struct NamePatternsTests {
  private func table(_ patterns: [String]) -> NamePatterns<String> {
    NamePatterns(patterns.map { .init(pattern: $0, value: $0) })
  }

  @Test(
    "the name itself counts before every beginning, and a longer beginning before a shorter one",
    arguments: [
      ("live", "live"), ("live-2", "live*"), ("lives", "live*"), ("li", "l*"), ("x", "*"),
      ("", "*"), ("live*", "live*"), ("LIVE", "*"),
    ])
  func lookUp(name: String, pattern: String) {
    #expect(table(["*", "l*", "live", "live*"])[name] == pattern)
    #expect(table(["live*", "live", "l*", "*"])[name] == pattern)
  }

  @Test("a name that nothing fits has the defaults")
  func none() {
    #expect(table(["live", "l-*"])["photos"] == nil)
    #expect(LaneRulesTable().rules(ofLane: "live") == LaneRules())
    #expect(ClientRulesTable().rules(ofClient: "till") == ClientRules())
  }

  @Test("a star stands at the end of a pattern or nowhere")
  func patterns() {
    #expect(["a", "a*", "*"].allSatisfy(NamePatterns<Int>.isPattern))
    #expect(!["", "*a", "a*b", "**", "a**"].contains(where: NamePatterns<Int>.isPattern))
  }

  @Test("a lane's ttl brings a deadline forward, and never puts it off")
  func deadline() {
    var rules = LaneRules()
    let now = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)
    let far = now.adding(milliseconds: 90_000)
    #expect(rules.deadline(far, countingFrom: now) == far)
    rules.ttlMs = 60_000
    #expect(rules.deadline(far, countingFrom: now) == now.adding(milliseconds: 60_000))
    let near = now.adding(milliseconds: 5)
    #expect(rules.deadline(near, countingFrom: now) == near)
  }
}

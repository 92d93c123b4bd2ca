import RelayCore
import RelayServer
import Testing

@Suite("What a lane's rules say of an envelope")
struct LaneTermsTests {
  private func configuration() throws -> Configuration {
    var live = LaneRules()
    live.order = .latest
    var brief = LaneRules()
    brief.ttlMs = 60_000
    return try Fixture.configuration {
      $0.lanes = LaneRulesTable([
        .init(pattern: "live", value: live), .init(pattern: "brief-*", value: brief),
      ])
    }
  }

  private func seconds(_ deadline: WallTime) -> Int64 {
    deadline.milliseconds(since: Fixture.now) / 1000
  }

  @Test(
    "a ttl brings a deadline forward, be it the upstream's or the sender's, and never puts it off",
    arguments: [
      ("", "brief-1", 60), (#","expiresAt":"2999-01-01T00:00:00Z""#, "brief-1", 60),
      (#","expiresAt":"2026-03-01T12:00:30Z""#, "brief-1", 30), ("", "default", 604_800),
    ])
  func ttl(more: String, lane: String, expected: Int64) throws {
    let text = #"{"client":"c","path":"/","lane":"\#(lane)"\#(more)}"#
    #expect(seconds(try Fixture.decode(text, configuration()).expiresAt) == expected)
  }

  @Test(
    "what goes by the order of acceptance is refused where the newest goes first",
    arguments: [
      (#""sequence":1"#, "/sequence"), (#""references":true"#, "/references"),
    ])
  func refused(member: String, field: String) throws {
    let text = #"{"client":"c","path":"/","lane":"live",\#(member)}"#
    let problem = try #require(try Fixture.problem(text, configuration()))
    #expect(problem.kind == .invalidField && problem.field == field)
    #expect(try Fixture.problem(text) == nil)
  }

  @Test(
    "what would expire before it may be attempted is refused, and both times are named",
    arguments: [
      (#""notBefore":"2026-03-02T12:00:00Z","expiresAt":"2026-03-02T12:00:00Z""#, "default", true),
      (#""notBefore":"2026-03-02T12:00:00Z","expiresAt":"2026-03-02T12:00:01Z""#, "default", false),
      (#""notBefore":"2026-03-08T11:59:59Z""#, "default", false),
      (#""notBefore":"2026-03-08T12:00:00Z""#, "default", true),
      (#""notBefore":"2026-03-01T12:00:59Z""#, "brief-1", false),
      (#""notBefore":"2026-03-01T12:01:00Z","expiresAt":"2999-01-01T00:00:00Z""#, "brief-1", true),
      (#""expiresAt":"2025-03-01T12:00:00Z""#, "default", false),
    ])
  func neverDue(members: String, lane: String, isRefused: Bool) throws {
    let text = #"{"client":"c","path":"/","lane":"\#(lane)",\#(members)}"#
    let problem = try Fixture.problem(text, configuration())
    #expect((problem != nil) == isRefused)
    guard let problem else { return }
    #expect(problem.kind == .invalidField && problem.status == 422)
    #expect(problem.field == "/notBefore")
    #expect(problem.detail.contains("notBefore") && problem.detail.contains("expiresAt"))
  }

  @Test("nor does a correction make it so")
  func neverDuePatched() throws {
    let expiresAt = Fixture.now.adding(milliseconds: 30_000)
    for (patch, field) in [
      (#"{"notBefore":"2026-03-01T12:00:30Z"}"#, "/notBefore"),
      (#"{"notBefore":"2026-03-01T12:02:00Z","expiresAt":null}"#, "/notBefore"),
    ] {
      let problem = #expect(throws: Problem.self) {
        try patched(patch, expiresAt: expiresAt, lane: "brief-1")
      }
      #expect(problem?.field == field)
    }
    let patch = #"{"notBefore":"2026-03-01T12:00:29Z"}"#
    _ = try patched(patch, expiresAt: expiresAt, lane: "brief-1")
  }

  private func patched(_ patch: String, expiresAt: WallTime, lane: String) throws -> EnvelopeEdit {
    let rules = AcceptanceRules(try configuration())
    let draft = try Fixture.decode(#"{"client":"c","path":"/","lane":"\#(lane)"}"#, configuration())
    let entry = LineEntry(
      serial: 1, client: ClientNumber(rawValue: 1), lane: LaneNumber(rawValue: 1),
      upstream: UpstreamNumber(rawValue: 1), acceptedAt: Fixture.now, expiresAt: expiresAt)
    let record = EnvelopeRecord(
      id: EnvelopeID(serial: 1, acceptedAt: Fixture.now, random: 0), draft: draft, state: .queued,
      reason: nil, entry: entry, endedAt: nil, attemptCount: 0, attempts: [], responseStatus: nil)
    return try EnvelopePatch(Array(patch.utf8), rules).applied(
      to: record, body: nil, at: ArrivalTime(Fixture.now)
    ) { _ in UpstreamNumber(rawValue: 1) }
  }

  @Test("a correction puts a deadline off no further than the ttl, but leaves a later one as it is")
  func patchedDeadline() throws {
    let soon = Fixture.now.adding(milliseconds: 10_000)
    let late = Fixture.now.adding(milliseconds: 100_000)
    for patch in [#"{"expiresAt":"2999-01-01T00:00:00Z"}"#, #"{"expiresAt":null}"#] {
      #expect(seconds(try patched(patch, expiresAt: soon, lane: "brief-1").entry.expiresAt) == 60)
      #expect(seconds(try patched(patch, expiresAt: late, lane: "brief-1").entry.expiresAt) == 100)
    }
    let earlier = #"{"expiresAt":"2026-03-01T12:00:05Z"}"#
    #expect(seconds(try patched(earlier, expiresAt: late, lane: "brief-1").entry.expiresAt) == 5)
  }

  @Test("a correction brings no references into such a lane")
  func patchedReferences() throws {
    let patch = #"{"references":true}"#
    _ = try patched(patch, expiresAt: Fixture.now, lane: "default")
    #expect(throws: Problem.self) { try patched(patch, expiresAt: Fixture.now, lane: "live") }
  }
}

import RelayCore
import Testing

@testable import RelayServer

@Suite("Times that a device gives as spans")
struct RelativeTimesTests {
  private func draft(_ more: String, _ lanes: LaneRules? = nil) throws -> EnvelopeDraft {
    let configuration = try Fixture.configuration {
      if let lanes { $0.lanes = LaneRulesTable([.init(pattern: "brief", value: lanes)]) }
    }
    return try Fixture.decode(#"{"client":"c","path":"/","key":"k",\#(more)}"#, configuration)
  }

  private func seconds(_ time: WallTime?) -> Int64? {
    time.map { $0.milliseconds(since: Fixture.now) / 1000 }
  }

  @Test(
    "a span counts from when the envelope was made",
    arguments: [
      (#""expiresIn":60"#, nil, 60), (#""expiresIn":60,"age":20"#, nil, 40),
      (#""expiresIn":60,"age":90"#, nil, -30), (#""expiresIn":0"#, nil, 0),
      (#""notBeforeIn":60"#, 60, 604_800), (#""notBeforeIn":60,"age":20"#, 40, 604_800),
      (#""notBeforeIn":5,"expiresIn":8,"age":10"#, -5, -2), (#""age":86400"#, nil, 604_800),
    ] as [(String, Int64?, Int64)])
  func spans(_ more: String, notBefore: Int64?, expiresAt: Int64) throws {
    let draft = try draft(more)
    #expect(seconds(draft.notBefore) == notBefore)
    #expect(seconds(draft.expiresAt) == expiresAt)
  }

  @Test("the lane's ttl counts from when the envelope was made as well")
  func ttl() throws {
    var brief = LaneRules()
    brief.ttlMs = 60_000
    #expect(seconds(try draft(#""lane":"brief","age":50"#, brief).expiresAt) == 10)
    #expect(seconds(try draft(#""lane":"brief","age":70"#, brief).expiresAt) == -10)
  }

  @Test(
    "where the time of day is not known, a deadline is none, and a wait is counted all the same")
  func unknown() throws {
    let arrival = ArrivalTime(time: Fixture.now, deadlineStart: .unknown)
    let rules = AcceptanceRules(try Fixture.configuration())
    let text = #"{"client":"c","path":"/","expiresIn":60,"notBeforeIn":30}"#
    let draft = try EnvelopeDecoder(rules).decode(Array(text.utf8), at: arrival)
    #expect(draft.expiresAt == .never)
    #expect(seconds(draft.notBefore) == 30)
  }

  @Test("a repeat is the same envelope though it comes later and is older")
  func repeats() throws {
    let rules = AcceptanceRules(try Fixture.configuration())
    func print(age: Int, atSecond second: Int64) throws -> [UInt8] {
      let text = """
        {"client":"c","path":"/","key":"k","expiresIn":600,"notBeforeIn":5,"age":\(age)}
        """
      let now = Fixture.now.adding(milliseconds: second * 1000)
      return try EnvelopeDecoder(rules).decode(Array(text.utf8), at: ArrivalTime(now)).fingerprint
    }
    #expect(try print(age: 3, atSecond: 0) == print(age: 63, atSecond: 60))
  }

  @Test(
    "a thing that is said twice is refused, and the problem names the span",
    arguments: [
      (#""expiresIn":60,"expiresAt":"2026-03-01T13:00:00Z""#, "/expiresIn"),
      (#""notBeforeIn":60,"notBefore":"2026-03-01T13:00:00Z""#, "/notBeforeIn"),
      (#""notBeforeIn":60,"expiresIn":60"#, "/notBeforeIn"), (#""age":-1"#, "/age"),
      (#""age":0.5"#, "/age"), (#""expiresIn":3155760001"#, "/expiresIn"),
    ])
  func refused(_ more: String, field: String) throws {
    let problem = try Fixture.problem(#"{"client":"c","path":"/",\#(more)}"#)
    #expect(problem?.kind == .invalidField && problem?.field == field, "\(problem as Any)")
  }

  @Test("on a relayed request each is a header field")
  func relayed() throws {
    let draft = try Fixture.relay(
      "/v1/relay/default/a",
      ["Waystation-Expires-In: 60", "Waystation-Not-Before-In: 30", "Waystation-Age: 20"]
    ).draft
    #expect(seconds(draft.expiresAt) == 40 && seconds(draft.notBefore) == 10)
    let twice = #expect(throws: Problem.self) {
      try Fixture.relay(
        "/v1/relay/default/a",
        ["Waystation-Expires-In: 60", "Waystation-Expires-At: 2999-01-01T00:00:00Z"])
    }
    #expect(twice?.field == "Waystation-Expires-In")
  }

  @Test("a patch counts from the call, and null of either puts the default back")
  func patched() throws {
    let rules = AcceptanceRules(try Fixture.configuration())
    let record = try EnvelopePatchTests.record(#","notBefore":"2026-03-01T13:00:00Z""#)
    func edit(_ patch: String) throws -> EnvelopeEdit {
      try EnvelopePatch(Array(patch.utf8), rules).applied(
        to: record, body: nil, at: ArrivalTime(Fixture.now), { _ in nil })
    }
    let moved = try edit(#"{"notBeforeIn":10,"expiresIn":20}"#)
    #expect(seconds(moved.notBefore) == 10 && seconds(moved.entry.dueAt) == 10)
    #expect(seconds(moved.entry.expiresAt) == 20)
    let cleared = try edit(#"{"notBeforeIn":null,"expiresIn":null}"#)
    #expect(cleared.notBefore == nil && cleared.entry.dueAt == nil)
    #expect(seconds(cleared.entry.expiresAt) == 604_800)
    for (patch, field) in [
      (#"{"expiresIn":1,"expiresAt":"2026-03-01T13:00:00Z"}"#, "/expiresIn"),
      (#"{"age":1}"#, "/age"), (#"{"notBeforeIn":10,"expiresIn":10}"#, "/notBeforeIn"),
    ] {
      let problem = #expect(throws: Problem.self) { try edit(patch) }
      #expect(problem?.field == field, "\(patch)")
    }
  }
}

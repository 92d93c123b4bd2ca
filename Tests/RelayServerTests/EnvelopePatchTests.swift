import RelayCore
import RelayServer
import Testing

@Suite("A merge patch of an envelope")
struct EnvelopePatchTests {
  private static let numbers = [
    "default": UpstreamNumber(rawValue: 1), "billing": UpstreamNumber(rawValue: 2),
  ]

  /// An envelope that waits, as the store shows it.
  static func record(
    _ more: String = "", standing: Standing = .queued, dueAt: WallTime? = nil
  ) throws -> EnvelopeRecord {
    let draft = try Fixture.decode(#"{"client":"c","path":"/old"\#(more)}"#)
    let id = EnvelopeID(serial: 1, acceptedAt: Fixture.now, random: 0)
    let entry = LineEntry(
      serial: 1, client: ClientNumber(rawValue: 1), lane: LaneNumber(rawValue: 1),
      upstream: UpstreamNumber(rawValue: 1), acceptedAt: Fixture.now, expiresAt: draft.expiresAt,
      standing: standing, onFailure: draft.onFailure, dueAt: dueAt ?? draft.notBefore,
      attempts: 3)
    return EnvelopeRecord(
      id: id, draft: draft, state: standing.state, reason: nil, entry: entry, endedAt: nil,
      attemptCount: 3, attempts: [], responseStatus: nil)
  }

  private let later = Fixture.now.adding(milliseconds: Fixture.day)

  private func apply(
    _ patch: String, to record: EnvelopeRecord, _ upstreams: [String] = ["default", "billing"]
  ) throws -> EnvelopeEdit {
    let rules = AcceptanceRules(try Fixture.configuration(upstreams))
    let patch = try EnvelopePatch(Array(patch.utf8), rules)
    return try patch.applied(
      to: record, body: patch.newBody.map { .inline($0) }, at: ArrivalTime(later),
      { Self.numbers[$0] })
  }

  @Test(
    "a time and a span for the same thing are refused, also where one of them is null",
    arguments: [
      #"{"expiresIn":10,"expiresAt":null}"#,
      #"{"expiresIn":null,"expiresAt":"2999-01-01T00:00:00Z"}"#,
      #"{"notBeforeIn":10,"notBefore":null}"#,
    ])
  func saidTwice(patch: String) throws {
    #expect(try problem(patch, try Self.record())?.kind == .invalidField)
    #expect(try problem(#"{"expiresIn":null,"expiresAt":null}"#, try Self.record()) == nil)
  }

  private func problem(_ patch: String, _ record: EnvelopeRecord) throws -> Problem? {
    do {
      _ = try apply(patch, to: record)
      return nil
    } catch let problem as Problem {
      return problem
    }
  }

  @Test("what it does not mention stays")
  func nothing() throws {
    let record = try Self.record(
      #","headers":{"A":"1"},"body":"x","tag":"t","notBefore":"2026-03-01T13:00:00Z""#)
    let rules = AcceptanceRules(try Fixture.configuration())
    #expect(try EnvelopePatch(Array("{}".utf8), rules).isEmpty)
    let edit = try apply(#"{"method":"PUT"}"#, to: record)
    #expect(edit.content.method == "PUT")
    #expect(edit.content.target == Array("/old".utf8))
    #expect(edit.content.headers == record.draft.content.headers)
    #expect(edit.content.body == record.draft.content.body)
    #expect(edit.entry == record.entry)
    #expect(edit.tag == "t" && edit.notBefore == record.draft.notBefore)
  }

  @Test("every field that can change does")
  func everything() throws {
    let edit = try apply(
      """
      {"upstream":"billing","method":"PUT","path":"/new?x","headers":{"B":["2","3"]},
       "bodyBase64":"AP8=","tag":"u","hold":true,"notBefore":"2026-03-01T13:00:00Z",
       "expiresAt":"2026-03-03T12:00:00Z","onFailure":"block"}
      """, to: try Self.record(#","headers":{"A":"1"},"body":"x""#))
    #expect(edit.entry.upstream == UpstreamNumber(rawValue: 2))
    #expect(edit.content.method == "PUT" && edit.content.target == Array("/new?x".utf8))
    #expect(
      text(edit.content.headers)
        == "Content-Type: text/plain; charset=utf-8\r\nA: 1\r\nB: 2\r\nB: 3\r\n")
    #expect(edit.content.body == .inline([0, 255]))
    #expect(edit.tag == "u" && edit.entry.standing == .held && edit.entry.onFailure == .block)
    #expect(edit.notBefore == edit.entry.dueAt)
    #expect(edit.entry.dueAt == Fixture.now.adding(milliseconds: 3_600_000))
    #expect(edit.entry.expiresAt == Fixture.now.adding(milliseconds: 2 * Fixture.day))
    #expect(edit.entry.attempts == 3)
  }

  @Test("null puts the default back")
  func defaults() throws {
    var record = try Self.record(
      """
      ,"method":"PUT","headers":{"A":"1"},"body":"x","tag":"t","hold":true,"onFailure":"block",
      "notBefore":"2026-03-01T13:00:00Z","expiresAt":"2026-03-01T14:00:00Z"
      """, standing: .held)
    record.entry.upstream = UpstreamNumber(rawValue: 2)
    let edit = try apply(
      """
      {"upstream":null,"method":null,"headers":null,"body":null,"tag":null,"hold":null,
       "notBefore":null,"expiresAt":null,"onFailure":null}
      """, to: record)
    #expect(edit.entry.upstream == UpstreamNumber(rawValue: 1))
    #expect(edit.content.method == "POST" && edit.content.headers.isEmpty)
    #expect(edit.content.body == .inline([]))
    #expect(edit.tag == nil && edit.notBefore == nil && edit.entry.dueAt == nil)
    #expect(edit.entry.standing == .queued && edit.entry.onFailure == .skip)
    #expect(edit.entry.expiresAt == later.adding(milliseconds: 7 * Fixture.day))
  }

  @Test(
    "header fields are merged by name, in whatever letters' case",
    arguments: [
      (#"{"a":"9"}"#, "B: 2\r\na: 9\r\n"), (#"{"b":null}"#, "A: 1\r\n"),
      (#"{"C":["3","4"],"A":null}"#, "B: 2\r\nC: 3\r\nC: 4\r\n"), ("{}", "A: 1\r\nB: 2\r\n"),
      ("null", ""), (#"{"Gone":null}"#, "A: 1\r\nB: 2\r\n"),
    ])
  func headers(_ patch: String, _ expected: String) throws {
    let record = try Self.record(#","headers":{"A":"1","B":"2"}"#)
    #expect(text(try apply(#"{"headers":\#(patch)}"#, to: record).content.headers) == expected)
  }

  @Test(
    "a new body has its own type, unless the sender gave one",
    arguments: [
      (#","body":"x""#, #"{"body":{"a":1}}"#, "Content-Type: application/json\r\n"),
      (#","body":{"a":1}"#, #"{"body":"x"}"#, "Content-Type: text/plain; charset=utf-8\r\n"),
      ("", #"{"body":[]}"#, "Content-Type: application/json\r\n"),
      (
        #","body":"x","headers":{"Content-Type":"text/csv"}"#, #"{"body":"y"}"#,
        "Content-Type: text/csv\r\n"
      ),
      (
        #","body":"x""#, #"{"body":"y","headers":{"content-type":"text/csv"}}"#,
        "content-type: text/csv\r\n"
      ),
      (#","body":"x""#, #"{"body":null,"headers":{"Content-Type":null}}"#, ""),
    ])
  func type(_ envelope: String, _ patch: String, _ expected: String) throws {
    #expect(text(try apply(patch, to: Self.record(envelope)).content.headers) == expected)
  }

  @Test("one way to give the body takes the other one's place, and null within it is its own")
  func bodies() throws {
    let record = try Self.record(#","bodyBase64":"AP8=""#)
    let json = try apply(#"{"body":{"a": null},"bodyBase64":null}"#, to: record)
    #expect(text(json.content.body) == #"{"a": null}"#)
    #expect(try apply(#"{"bodyBase64":null}"#, to: record).content.body == .inline([]))
    #expect(try problem(#"{"body":"a","bodyBase64":"YQ=="}"#, record)?.kind == .invalidField)
  }

  @Test("a wait after a failure stays, but not for another upstream or another notBefore")
  func wait() throws {
    let backoff = Fixture.now.adding(milliseconds: 5000)
    let record = try Self.record(dueAt: backoff)
    #expect(try apply(#"{"body":"x"}"#, to: record).entry.dueAt == backoff)
    #expect(try apply(#"{"upstream":"default"}"#, to: record).entry.dueAt == backoff)
    #expect(try apply(#"{"upstream":"billing"}"#, to: record).entry.dueAt == nil)
    #expect(try apply(#"{"notBefore":null}"#, to: record).entry.dueAt == nil)
  }

  @Test("one that blocks its lane stays blocked, and cannot be held")
  func blocked() throws {
    let record = try Self.record(standing: .blocked)
    #expect(try apply(#"{"body":"x","hold":false}"#, to: record).entry.standing == .blocked)
    #expect(try problem(#"{"hold":true}"#, record)?.field == "/hold")
  }

  @Test(
    "what cannot change is refused by name",
    arguments: [
      (#"{"client":"d"}"#, "/client", .invalidField), (#"{"lane":null}"#, "/lane", .invalidField),
      (#"{"key":"k"}"#, "/key", .invalidField), (#"{"sequence":1}"#, "/sequence", .invalidField),
      (#"{"state":"delivered"}"#, "/state", .invalidField), (#"{"id":null}"#, "/id", .invalidField),
      (#"{"path":null}"#, "/path", .invalidField), (#"{"path":"x"}"#, "/path", .invalidField),
      (#"{"hold":1}"#, "/hold", .invalidField), (#"{"pth":null}"#, "/pth", .unknownField),
      (#"{"headers":[]}"#, "/headers", .invalidField),
      (#"{"headers":{"Host":"x"}}"#, "/headers/Host", .invalidField),
      (#"{"headers":{"A B":null}}"#, "/headers/A B", .invalidField),
      (#"{"upstream":"nowhere"}"#, "/upstream", .unknownUpstream), ("[]", "", .invalidField),
    ] as [(String, String, ProblemKind)])
  func refused(_ patch: String, _ field: String, _ kind: ProblemKind) throws {
    let problem = try problem(patch, Self.record())
    #expect(problem?.field == field)
    #expect(problem?.kind == kind)
  }

  @Test("the default of an upstream that is not configured any more is not known")
  func unconfigured() throws {
    let record = try Self.record()
    #expect(try apply(#"{"body":"x"}"#, to: record, ["a", "b"]).entry == record.entry)
    #expect(throws: Problem.self) { try apply(#"{"expiresAt":null}"#, to: record, ["a", "b"]) }
    #expect(throws: Problem.self) { try apply(#"{"upstream":null}"#, to: record, ["a", "b"]) }
  }

  @Test(
    "what resolves and requeues is read as strictly",
    arguments: [
      (#"{"action":"drop"}"#, "/action", .invalidField), ("{}", "/action", .missingField),
      (#"{"action":"retry","x":1}"#, "/x", .unknownField), ("[]", "", .invalidField),
    ] as [(String, String, ProblemKind)])
  func commands(_ body: String, _ field: String, _ kind: ProblemKind) throws {
    let problem = #expect(throws: Problem.self) { try Resolution(Array(body.utf8)) }
    #expect(problem?.field == field)
    #expect(problem?.kind == kind)
    #expect(try Resolution(Array(#"{"action":"discard"}"#.utf8)) == .discard)
    let arrival = ArrivalTime(Fixture.now)
    #expect(try RequeueTerms(nil).expiresAt(from: arrival) == nil)
    let terms = try RequeueTerms(Array(#"{"expiresAt":"2026-03-01T12:00:00Z"}"#.utf8))
    #expect(terms.expiresAt(from: arrival) == Fixture.now)
    let span = try RequeueTerms(Array(#"{"expiresIn":60}"#.utf8))
    #expect(span.expiresAt(from: arrival) == Fixture.now.adding(milliseconds: 60_000))
  }

  @Test("a patch removes no more header fields than an envelope may have")
  func manyRemovals() throws {
    let rules = AcceptanceRules(try Fixture.configuration())
    func patch(_ count: Int) throws -> EnvelopePatch {
      let removals = (0..<count).map { #""X-\#($0)":null"# }.joined(separator: ",")
      return try EnvelopePatch(Array("{\"headers\":{\(removals)}}".utf8), rules)
    }
    #expect(!(try patch(rules.limits.headerCountMax).isEmpty))
    #expect(throws: Problem.self) { try patch(rules.limits.headerCountMax + 1) }
  }

  @Test("references are turned on and off, and looked at with all that then stands there")
  func references() throws {
    let on = try apply(#"{"references":true,"path":"/{{response:k#/id}}"}"#, to: try Self.record())
    #expect(on.references && on.content.target == Array("/{{response:k#/id}}".utf8))
    let record = try Self.record(#","references":true,"body":"{{response:k#/id}}""#)
    #expect(try apply(#"{"tag":"t"}"#, to: record).references)
    #expect(try !apply(#"{"references":null}"#, to: record).references)
    #expect(try problem(#"{"body":"{{"}"#, record)?.field == "/body")
    #expect(try problem(#"{"references":true}"#, Self.record(#","body":"{{""#))?.field == "/body")
    var templated = record
    templated.draft.content.target = Array("/{{response:k#/id}}".utf8)
    #expect(try problem(#"{"references":false}"#, templated)?.field == "/path")
  }
}

import RelayCore
import RelayServer
import Testing

@Suite("What a run names")
struct RunTermsTests {
  private func filter(_ text: String?) throws -> RunFilter {
    try RunTerms(text.map { Array($0.utf8) }).filter
  }

  @Test("one filter, or none for all that waits")
  func filters() throws {
    #expect(try filter(nil) == .everything)
    #expect(try filter("{}") == .everything)
    #expect(try filter(#"{"lane": "a"}"#) == .lane("a"))
    #expect(try filter(#"{"tag": "a"}"#) == .tag("a"))
    #expect(try filter(#"{"collection": "a"}"#) == .collection("a"))
    let id = EnvelopeID(serial: 7, acceptedAt: WallTime(millisecondsSinceEpoch: 1), random: 5)
    #expect(try filter(#"{"ids": ["\#(id)", "\#(id)"]}"#) == .ids([id]))
  }

  @Test(
    "what makes no sense is refused, and named",
    arguments: [
      (#"{"lane": "a", "lane2": "b"}"#, ProblemKind.unknownField, "/lane2"),
      (#"{"lane": "a", "tag": "b"}"#, .invalidField, "/tag"),
      (#"{"ids": []}"#, .invalidField, "/ids"), (#"{"ids": {}}"#, .invalidField, "/ids"),
      (#"{"ids": [7]}"#, .invalidField, "/ids/0"), (#"{"lane": "a b"}"#, .invalidField, "/lane"),
      (#"[]"#, .invalidField, ""), (#"{"#, .malformedJSON, nil),
    ] as [(String, ProblemKind, String?)])
  func refusals(_ text: String, _ kind: ProblemKind, _ field: String?) {
    let problem = #expect(throws: Problem.self) { try filter(text) }
    #expect(problem?.kind == kind)
    if let field { #expect(problem?.field == field) }
  }
}

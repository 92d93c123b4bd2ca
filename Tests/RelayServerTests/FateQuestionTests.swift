import RelayCore
import RelayServer
import Testing

@Suite("Asking what became of many envelopes")
struct FateQuestionTests {
  private static let id = "0199a3c2-5e10-7a41-8000-00004a41c0de"

  private func read(_ text: String?) throws -> [EnvelopeReference] {
    try FateQuestion(text.map { Array($0.utf8) }).references
  }

  @Test("ids come first, then keys, each in their order")
  func order() throws {
    let id = try #require(EnvelopeID(parsing: Self.id))
    let found = try read(#"{"keys":["b","a","b"],"ids":["\#(Self.id)"],"client":"c"}"#)
    #expect(
      found == [.id(id), .key("b", client: "c"), .key("a", client: "c"), .key("b", client: "c")])
    #expect(try read(#"{"ids":[]}"#).isEmpty)
  }

  @Test(
    "what cannot be asked is refused with the place",
    arguments: [
      (nil, ProblemKind.missingField, "/ids"), ("{}", .missingField, "/ids"),
      (#"{"client":"c"}"#, .missingField, "/keys"), (#"{"keys":["a"]}"#, .missingField, "/client"),
      (#"{"ids":[],"client":"c"}"#, .missingField, "/keys"),
      (#"{"ids":["x"]}"#, .invalidField, "/ids/0"), (#"{"ids":{}}"#, .invalidField, "/ids"),
      (#"{"client":"c","keys":["a",""]}"#, .invalidField, "/keys/1"),
      (#"{"client":7,"keys":["a"]}"#, .invalidField, "/client"), ("[]", .invalidField, ""),
      (#"{"id":[]}"#, .unknownField, "/id"),
    ] as [(String?, ProblemKind, String)])
  func refused(text: String?, kind: ProblemKind, field: String) {
    let problem = #expect(throws: Problem.self) { try read(text) }
    #expect(problem?.kind == kind)
    #expect(problem?.field == field)
  }

  @Test("a thousand may be asked about, ids and keys together")
  func limit() throws {
    let ids = { (count: Int) in
      [String](repeating: "\"\(Self.id)\"", count: count).joined(separator: ",")
    }
    #expect(try read("{\"ids\":[\(ids(1000))]}").count == 1000)
    #expect(try read("{\"ids\":[\(ids(999))],\"client\":\"c\",\"keys\":[\"k\"]}").count == 1000)
    for text in [
      "{\"ids\":[\(ids(1001))]}", "{\"ids\":[\(ids(1000))],\"client\":\"c\",\"keys\":[\"k\"]}",
    ] {
      let problem = #expect(throws: Problem.self) { try read(text) }
      #expect(problem?.kind == .invalidField)
    }
  }
}

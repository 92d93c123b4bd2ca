import JSON
import Testing

@Suite("What an upstream says of a mistake")
struct ErrorDocuments {
  private static let problem = "application/problem+json"
  private static let json = "application/json"

  private func read(_ body: String, as type: String = problem) -> ErrorDocument? {
    ErrorDocument(Array(body.utf8), contentType: type)
  }

  @Test("a problem document's errorId comes first, then its type")
  func problems() {
    #expect(read(#"{"errorId": "E1", "type": "urn:x"}"#)?.id == "E1")
    let odd = "Application/Problem+JSON ; charset=utf-8"
    #expect(read(#"{"type": "urn:x"}"#, as: odd)?.id == "urn:x")
    #expect(read(#"{"errorId": 7, "type": "urn:x"}"#)?.id == "urn:x")
    #expect(read(#"{"errorId": "", "type": "about:blank"}"#) == nil)
    let long = String(repeating: "x", count: 257)
    #expect(read(#"{"errorId": "\#(long)"}"#) == nil)
  }

  @Test("any other JSON may have an errorId, and its type means nothing")
  func others() {
    #expect(read(#"{"errorId": "E1"}"#, as: Self.json)?.id == "E1")
    #expect(read(#"{"errorId": "E1"}"#, as: "application/vnd.shop+json; v=1")?.id == "E1")
    #expect(read(#"{"type": "urn:x"}"#, as: Self.json) == nil)
    #expect(read(#"{"errorId": "E1"}"#, as: "text/html") == nil)
    #expect(read(#"{"errorId": "E1"}"#, as: "") == nil)
    #expect(read("no json") == nil && read("[1]") == nil && read("{}") == nil)
  }

  @Test(
    "what it says to people is its detail, else its message, else its title",
    arguments: [
      (#"{"detail": "a", "message": "b", "title": "c"}"#, "a"),
      (#"{"title": "c", "message": "b", "detail": ""}"#, "b"),
      (#"{"title": "c", "message": {"text": "b"}}"#, "c"),
      (#"{"message": " a sale\n\tcannot  be\u0000negative "}"#, "a sale cannot be negative"),
    ])
  func words(_ body: String, _ words: String) {
    #expect(read(body, as: Self.json)?.words == words)
  }

  @Test("long words are cut between two characters")
  func long() throws {
    let body = #"{"message": "\#(String(repeating: "ä", count: 5000))"}"#
    let words = try #require(read(body)?.words)
    #expect(words == String(repeating: "ä", count: 254) + "…")
    #expect(words.utf8.count <= ErrorDocument.wordsBytesMax)
    let fitting = String(repeating: "x", count: ErrorDocument.wordsBytesMax)
    #expect(read(#"{"message": "\#(fitting)"}"#)?.words == fitting)
  }
}

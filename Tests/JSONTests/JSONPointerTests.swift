import JSON
import Testing

@Suite("JSON pointers")
struct JSONPointerTests {
  private let document = #"""
    {"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}
    """#

  @Test(
    "the examples of RFC 6901 lead where it says",
    arguments: [
      ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"),
      ("/g|h", "4"), (#"/i\j"#, "5"), (#"/k"l"#, "6"), ("/ ", "7"), ("/m~0n", "8"),
      ("/foo", #"["bar","baz"]"#),
    ])
  func examples(pointer: String, expected: String) throws {
    let value = try JSONValue.parse(Array(document.utf8))
    let tokens = try #require(JSONPointer.tokens(of: pointer))
    #expect(value.value(at: tokens).map { String(decoding: $0.raw, as: UTF8.self) } == expected)
  }

  @Test("the empty pointer leads to the document itself")
  func whole() throws {
    let value = try JSONValue.parse(Array("[1]".utf8))
    #expect(JSONPointer.tokens(of: "") == [])
    #expect(value.value(at: [])?.kind == .array)
  }

  @Test(
    "a pointer to nothing finds nothing",
    arguments: ["/nothing", "/foo/2", "/foo/00", "/foo/-", "/foo/bar", "/foo/0/0", "/a~0b", "//"])
  func nothing(pointer: String) throws {
    let value = try JSONValue.parse(Array(document.utf8))
    let tokens = try #require(JSONPointer.tokens(of: pointer))
    #expect(value.value(at: tokens) == nil)
  }

  @Test("what is no pointer is told", arguments: ["foo", "/~", "/~2", "/a~", " /a"])
  func malformed(pointer: String) { #expect(JSONPointer.tokens(of: pointer) == nil) }
}

import JSON
import Testing

@Suite("Splitting an array")
struct JSONArraySplitterTests {
  private func split(_ text: String, countMax: Int = 100) throws(JSONError) -> [String] {
    let bytes = Array(text.utf8)
    return try JSONArraySplitter.elementRanges(of: bytes, countMax: countMax).map {
      String(decoding: bytes[$0], as: UTF8.self)
    }
  }

  static let sound: [(String, [String])] = [
    ("[]", []), (" [ ] ", []), ("[1]", ["1"]), ("[ 1 , 2 ]\n", ["1", "2"]),
    (#"[{"a":[1,2]},"],[",{}]"#, [#"{"a":[1,2]}"#, #""],[""#, "{}"]),
    (#"["\"","\\",3]"#, [#""\"""#, #""\\""#, "3"]),
    // Bad items: found when they are read, not here.
    (
      #"[{"a":01},nope,{"a" 1},1 2,"\ud800"]"#,
      [#"{"a":01}"#, "nope", #"{"a" 1}"#, "1 2", #""\ud800""#]
    ),
    ("[\"a\nb\",2]", ["\"a\nb\"", "2"]),
  ]

  @Test("elements are found without looking into them", arguments: sound)
  func elements(text: String, elements: [String]) throws {
    #expect(try split(text) == elements)
  }

  static let unsound: [(String, JSONError.Kind, Int)] = [
    ("", .unexpectedEnd, 0), ("{}", .unexpectedByte, 0), ("1", .unexpectedByte, 0),
    ("[", .unexpectedEnd, 1), ("[1", .unexpectedEnd, 2), ("[1,", .unexpectedEnd, 3),
    ("[1,]", .unexpectedByte, 3), ("[,1]", .unexpectedByte, 1), ("[1,,2]", .unexpectedByte, 3),
    ("[1] x", .trailingContent, 4), ("[1]]", .trailingContent, 3), ("[{]}]", .unexpectedByte, 2),
    ("[\"a]", .unexpectedEnd, 4), ("[}]", .unexpectedByte, 1), ("[{\"a\":1]", .unexpectedByte, 7),
    ("[\"a\\", .unexpectedEnd, 4),
  ]

  @Test("an array whose own syntax is broken is refused as a whole", arguments: unsound)
  func refusals(text: String, kind: JSONError.Kind, offset: Int) {
    let error = #expect(throws: JSONError.self) { try split(text) }
    #expect(error?.kind == kind)
    #expect(error?.offset == offset)
  }

  @Test("more elements than asked for are refused")
  func countMax() throws {
    #expect(try split("[1,2,3]", countMax: 3).count == 3)
    let error = #expect(throws: JSONError.self) { try split("[1,2,3,4]", countMax: 3) }
    #expect(error?.kind == .tooManyElements)
  }

  @Test("a bad item leaves the others readable, and its error counts from the item")
  func badItem() throws {
    let bytes = Array(#"[{"a":1}, {"a":01}, {"a":1,"a":2}, {"a":4}]"#.utf8)
    let results = try JSONArraySplitter.elementRanges(of: bytes, countMax: 9).map { range in
      Result { () throws(JSONError) in try JSONValue.parse(bytes, in: range) }
    }
    #expect(results.map { (try? $0.get()) != nil } == [true, false, false, true])
    let error = #expect(throws: JSONError.self) { try results[1].get() }
    #expect(error?.path == "/a")
    #expect(error?.offset == 15)
  }
}

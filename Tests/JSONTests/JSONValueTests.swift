import JSON
import Testing

private func parse(_ text: String) throws(JSONError) -> JSONValue {
  try JSONValue.parse(Array(text.utf8))
}

@Suite("Reading values")
struct JSONValueTests {
  @Test("an object is read member by member, in order, by name")
  func objectInOrder() throws {
    var seen: [String] = []
    let text = #"{"a": 1, "b" : [true, null] , "\u0063": "x\ty", "": {} , "a\"b": "[{"}"#
    for member in try parse(text).object() {
      switch member.name {
      case "a": seen.append("a=\(try member.value.int64())")
      case "b": seen.append("b=\(try member.value.array().map(\.kind.rawValue))")
      case "c": seen.append("c=\(try member.value.string())")
      case "": seen.append("empty \(member.value.kind)")
      default: seen.append(member.name.string)
      }
    }
    #expect(seen == ["a=1", #"b=["boolean", "null"]"#, "c=x\ty", "empty object", "a\"b"])
  }

  @Test("a value's raw text is what was written, byte for byte")
  func rawText() throws {
    let body = #"{ "b" : [1.0, 2e5,  "\u0041/" ] ,"a":{} }"#
    let value = try parse("  {\"path\":\"/\",\"body\" : \(body)  , \"z\":-0.50 }\n")
    #expect(Array(try #require(value["body"]).raw) == Array(body.utf8))
    #expect(Array(try #require(value["z"]).raw) == Array("-0.50".utf8))
    #expect(value["nothing"] == nil)
    #expect(value.range.lowerBound == 2)
  }

  @Test("a part of a text is read as a document of its own")
  func partOfText() throws {
    let text = Array(#"[{"a":1},{"b":[0,{"c":"x"}]}]"#.utf8)
    let value = try JSONValue.parse(text, in: 9..<28)
    let array = try #require(value["b"])
    let inner = try #require(Array(array.array()).last?["c"])
    #expect(inner.path == "/b/1/c")
    let error = #expect(throws: JSONError.self) { try inner.bool() }
    #expect(error?.offset == 22)
    #expect(throws: JSONError.self) { try JSONValue.parse(text, in: 9..<27) }
  }

  static let strings: [(String, String)] = [
    (#""""#, ""),
    (#""plain text of more than eight bytes""#, "plain text of more than eight bytes"),
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "Aé€"),
    (#""\ud83d\ude00!""#, "😀!"), (#""\u0000""#, "\0"),
    ("\"é€😀\u{7F}\u{2028}\"", "é€😀\u{7F}\u{2028}"),
    ("\"\u{FFFF}\u{10FFFF}\u{FEFF}\"", "\u{FFFF}\u{10FFFF}\u{FEFF}"),
    (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
  ]

  @Test("a string stands for its text", arguments: strings)
  func string(text: String, meaning: String) throws {
    #expect(try parse(text).string() == meaning)
    #expect(try parse(text).utf8() == Array(meaning.utf8))
  }

  @Test("a string is compared with a known one, escaped or not")
  func stringEquals() throws {
    #expect(try parse(#""skip""#).equals("skip"))
    #expect(try parse(#""s\u006Bip""#).equals("skip"))
    #expect(try !parse(#""skip ""#).equals("skip"))
    #expect(try !parse(#""s\\ip""#).equals(#"s\\ip"#))
    #expect(try !parse("5").equals("5"))
  }

  static let integers: [(String, Int64)] = [
    ("0", 0), ("-0", 0), ("42", 42), ("-9223372036854775808", .min), ("9223372036854775807", .max),
  ]

  @Test("a whole number is read", arguments: integers)
  func integer(text: String, value: Int64) throws {
    #expect(try parse(text).int64() == value)
  }

  @Test(
    "a number that does not fit, or is not whole, is refused",
    arguments: [
      ("9223372036854775808", JSONError.Kind.numberOutOfRange),
      ("-9223372036854775809", .numberOutOfRange),
      ("1.0", .wrongType), ("1e3", .wrongType), ("\"1\"", .wrongType), ("null", .wrongType),
    ])
  func integerRefused(text: String, kind: JSONError.Kind) {
    let error = #expect(throws: JSONError.self) { try parse(text).int64() }
    #expect(error?.kind == kind)
  }

  @Test("floating numbers have a range of their own")
  func otherNumbers() throws {
    #expect(try parse("-0").double().sign == .minus)
    #expect(try parse("1.5E+2").double() == 150)
    #expect(try parse("5e-400").double() == 0)
    let error = #expect(throws: JSONError.self) { try parse("1e999").double() }
    #expect(error?.kind == .numberOutOfRange)
  }

  @Test("the wrong type is refused with the path, what was expected and what stands there")
  func wrongType() throws {
    let value = try parse(#"{"a": {"b/~": [1, "x", {}]}}"#)
    let items = try Array(#require(value["a"]?["b/~"]).array())
    let error = #expect(throws: JSONError.self) { try items[1].bool() }
    #expect(
      error?.description == "expected true or false but found a string, at byte 18 (/a/b~1~0/1)")
    #expect(items[2].path == "/a/b~1~0/2")
    #expect(value.path == "")
  }

  @Test("values of every type are told apart")
  func kinds() throws {
    let value = try parse(#"[{}, [], "", 0, -1, true, false, null]"#)
    #expect(
      try value.array().map(\.kind)
        == [.object, .array, .string, .number, .number, .boolean, .boolean, .null])
    #expect(try parse("true").bool())
    #expect(try !parse("false").bool())
    #expect(try parse("[]").array().map(\.kind) == [])
    #expect(try parse(" { } ").object().map(\.value.kind) == [])
  }
}

import JSON
import Testing

@Suite("Syntax")
struct JSONSyntaxTests {
  static let accepted = [
    "0", "-0", "0.0", "-0.1e-10", "1E5", "1e+5", "1e999", "123456789012345678901234567890",
    "\"\"", " \t\r\n null \t\r\n ", "[]", "[ ]", "{}", "{ }", "[[],[{}]]", "[1 , 2]",
    #"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}"#, #"{"a":1,"A":2}"#, #"{"":1}"#,
    "\"\u{7F}\"", #""\u0000""#, #"{"é":1,"e\u0301":2}"#,
  ]

  @Test("well-formed text is taken", arguments: accepted)
  func accept(text: String) throws {
    _ = try JSONValue.parse(Array(text.utf8))
  }

  static let refused: [(String, JSONError.Kind, Int)] = [
    ("", .unexpectedEnd, 0), ("  ", .unexpectedEnd, 2), ("[", .unexpectedEnd, 1),
    ("{", .unexpectedEnd, 1), ("[1", .unexpectedEnd, 2), ("[1,", .unexpectedEnd, 3),
    ("{\"a\"", .unexpectedEnd, 4), ("{\"a\":", .unexpectedEnd, 5), ("{\"a\":1", .unexpectedEnd, 6),
    ("{\"a\":1,", .unexpectedEnd, 7), ("\"abc", .unexpectedEnd, 4), ("\"abc\\", .unexpectedEnd, 5),
    ("\"\\u12", .unexpectedEnd, 5), ("tru", .unexpectedEnd, 3), ("-", .unexpectedEnd, 1),
    ("1.", .unexpectedEnd, 2), ("1e", .unexpectedEnd, 2), ("1e+", .unexpectedEnd, 3),
    ("01", .invalidNumber, 0), ("-01", .invalidNumber, 0), ("00", .invalidNumber, 0),
    ("[1.]", .invalidNumber, 3), ("[1.e5]", .invalidNumber, 3), ("-x", .invalidNumber, 1),
    (".5", .unexpectedByte, 0), ("+1", .unexpectedByte, 0), ("NaN", .unexpectedByte, 0),
    ("Infinity", .unexpectedByte, 0), ("-Infinity", .invalidNumber, 1),
    ("0x10", .trailingContent, 1),
    ("1_000", .trailingContent, 1), ("1 2", .trailingContent, 2), ("{}{}", .trailingContent, 2),
    ("null\0", .trailingContent, 4), ("\0", .unexpectedByte, 0), ("True", .unexpectedByte, 0),
    ("nul1", .unexpectedByte, 3), ("nulll", .trailingContent, 4), ("[1,]", .unexpectedByte, 3),
    ("[,1]", .unexpectedByte, 1), ("[1,,2]", .unexpectedByte, 3), ("[1 2]", .unexpectedByte, 3),
    ("{\"a\":1,}", .unexpectedByte, 7), ("{,}", .unexpectedByte, 1), ("{a:1}", .unexpectedByte, 1),
    ("{'a':1}", .unexpectedByte, 1), ("{\"a\" 1}", .unexpectedByte, 5),
    ("{1:1}", .unexpectedByte, 1),
    ("{\"a\":}", .unexpectedByte, 5), ("[}", .unexpectedByte, 1), ("[1}", .unexpectedByte, 2),
    ("{\"a\":1]", .unexpectedByte, 6), ("]", .unexpectedByte, 0), ("/*x*/1", .unexpectedByte, 0),
    ("1//x", .trailingContent, 1), ("\u{FEFF}1", .byteOrderMark, 0),
    ("\u{A0}1", .unexpectedByte, 0),
    ("\"a\nb\"", .controlCharacter, 2), ("\"\t\"", .controlCharacter, 1),
    ("\"\0\"", .controlCharacter, 1), (#""\a""#, .invalidEscape, 1), (#""\'""#, .invalidEscape, 1),
    (#""\x41""#, .invalidEscape, 1), (#""\u12G4""#, .invalidEscape, 1),
    (#""\U0041""#, .invalidEscape, 1),
    (#""\ud800""#, .loneSurrogate, 1), (#""\udc00""#, .loneSurrogate, 1),
    (#""x\ud800y""#, .loneSurrogate, 2), (#""\ud800\u0041""#, .loneSurrogate, 1),
    (#""\ud800\ud800""#, .loneSurrogate, 1), (#""\ud83d\n""#, .loneSurrogate, 1),
    (#"{"a":1,"a":2}"#, .duplicateName, 7), (#"{"a":1,"\u0061":2}"#, .duplicateName, 7),
    (#"{"\u0061":1,"b":0,"a":2}"#, .duplicateName, 18),
    (#"[{"x":{"":1,"":1}}]"#, .duplicateName, 12),
  ]

  @Test("anything else is refused, with the place", arguments: refused)
  func refuse(text: String, kind: JSONError.Kind, offset: Int) {
    let error = #expect(throws: JSONError.self) { try JSONValue.parse(Array(text.utf8)) }
    #expect(error?.kind == kind)
    #expect(error?.offset == offset)
  }

  static let notUTF8: [[UInt8]] = [
    [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0x80],
    [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xE2, 0x82, 0x41], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
    [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98],
    [0xF4, 0x90, 0x80, 0x80],
    [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xF0, 0x9F, 0x98, 0xC0],
  ]

  @Test(
    "bytes that are no UTF-8 are refused: overlong forms, surrogates, cut ones", arguments: notUTF8)
  func encoding(bytes: [UInt8]) {
    for text in [[0x22] + bytes + [0x22], [0x22, 0x61] + bytes + Array("1234567890\"".utf8)] {
      let error = #expect(throws: JSONError.self) { try JSONValue.parse(text) }
      #expect(error?.kind == .invalidUTF8)
    }
  }

  @Test("nesting is taken up to the limit and refused past it, however deep")
  func depth() throws {
    func nested(_ depth: Int) -> [UInt8] {
      Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }
    _ = try JSONValue.parse(nested(JSONLimits.depthMax))
    for depth in [JSONLimits.depthMax + 1, 1_000_000] {
      let error = #expect(throws: JSONError.self) { try JSONValue.parse(nested(depth)) }
      #expect(error?.kind == .tooDeep)
      #expect(error?.offset == JSONLimits.depthMax)
    }
  }

  @Test("a duplicate is found among many names, escaped or not", arguments: [16, 17, 5000])
  func duplicateAmongMany(count: Int) throws {
    let names = (0..<count).map { "\"name\($0)\":\($0)" }.joined(separator: ",")
    _ = try JSONValue.parse(Array("{\(names)}".utf8))
    for last in [#""name7""#, #""n\u0061me7""#] {
      let error = #expect(throws: JSONError.self) {
        try JSONValue.parse(Array("{\(names),\(last):0}".utf8))
      }
      #expect(error?.kind == .duplicateName)
      #expect(error?.offset == names.utf8.count + 2)
    }
  }

  static let paths: [(String, String)] = [
    (#"{"a": [1, {"b": tru}]}"#, "/a/1/b"), (#"{"a": 1, "b" 2}"#, "/b"), (#"[1, 2, x]"#, "/2"),
    (#"{"a": {}, "c": [[], [01]]}"#, "/c/1/0"), (#"{"x/y": {"~": nope}}"#, "/x~1y/~0"),
    (#"{"a": {"b": 1, "b": 2}}"#, "/a/b"), ("x", ""), ("[] x", ""), (#"{"a": [1 2]}"#, "/a/0"),
    (#"{"a\u002fb": ?}"#, "/a~1b"), (#"{"a": "\x"}"#, "/a"), (#"{"\ud83d": 1}"#, "/\u{FFFD}"),
    (#"{"\ud83d\u0041b": 1}"#, "/\u{FFFD}Ab"), (#"{"\udc00": 1}"#, "/\u{FFFD}"),
  ]

  @Test("an error says where, as a JSON pointer", arguments: paths)
  func path(text: String, path: String) {
    let error = #expect(throws: JSONError.self) { try JSONValue.parse(Array(text.utf8)) }
    #expect(error?.path == path)
  }

  @Test("an error reads as a sentence")
  func sentence() {
    let error = #expect(throws: JSONError.self) {
      try JSONValue.parse(Array(#"{"a": [1 x]}"#.utf8))
    }
    #expect(
      error?.description == #"expected "," or "]" but found "x", at byte 9 (/a/0)"#)
  }

  @Test("cutting or changing any byte of a text never crashes the reader")
  func damage() {
    let text = Array(#"{"a":[1,-2.5e3,{"b":"\u00e9\ud83d\ude00é"}],"c":null,"d":[[],{}]} "#.utf8)
    for index in text.indices {
      _ = try? JSONValue.parse(Array(text[..<index]))
      for byte in UInt8.min...UInt8.max {
        var damaged = text
        damaged[index] = byte
        if let value = try? JSONValue.parse(damaged) { exercise(value) }
        _ = try? JSONArraySplitter.elementRanges(of: damaged, countMax: 10)
      }
    }
  }

  /// Goes through everything in a value.
  private func exercise(_ value: JSONValue) {
    _ = try? value.string()
    _ = try? value.double()
    _ = try? value.int64()
    if let members = try? value.object() { for member in members { exercise(member.value) } }
    if let elements = try? value.array() { for element in elements { exercise(element) } }
  }
}

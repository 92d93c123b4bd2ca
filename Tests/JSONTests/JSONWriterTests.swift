import JSON
import Testing

@Suite("Writing")
struct JSONWriterTests {
  private func text(pretty: Bool = false, _ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter(pretty: pretty)
    write(&writer)
    return String(decoding: writer.finish(), as: UTF8.self)
  }

  private func sample(_ json: inout JSONWriter) {
    json.object { json in
      json.member("id", "a")
      json.member("count", Int64.min)
      json.member("ratio", 0.5)
      json.member("held", false)
      json.member("body", raw: Array(#"{ "x":1 }"#.utf8))
      json.memberArray("lanes") { json in
        json.string("x")
        json.null()
        json.array { _ in }
        json.object { _ in }
      }
      json.memberObject("inner") { json in json.member("n", UInt8(7)) }
    }
  }

  @Test("objects and arrays are written in order, with commas where they belong")
  func compact() {
    #expect(
      text(sample)
        == #"{"id":"a","count":-9223372036854775808,"ratio":0.5,"held":false,"body":{ "x":1 },"#
        + #""lanes":["x",null,[],{}],"inner":{"n":7}}"#)
  }

  @Test("pretty text has a line for each member, and empty containers stay closed")
  func pretty() {
    let expected = """
      {
        "a": 1,
        "b": [
          "x",
          {}
        ],
        "c": []
      }
      """
    let written = text(pretty: true) { json in
      json.object { json in
        json.member("a", 1)
        json.memberArray("b") { json in
          json.string("x")
          json.object { _ in }
        }
        json.memberArray("c") { _ in }
      }
    }
    #expect(written == expected)
  }

  @Test("strings are escaped as far as needed, and read back as they were")
  func escapes() throws {
    #expect(
      text { $0.string("a\"b\\c/\n\r\t\u{8}\0\u{1F}é😀\u{7F}") }
        == #""a\"b\\c/\n\r\t\u0008\u0000\u001fé😀"# + "\u{7F}\"")
    let everything = String(
      String.UnicodeScalarView((0...0x2FFF).compactMap(Unicode.Scalar.init)))
    let written = text { $0.string(everything) }
    #expect(try JSONValue.parse(Array(written.utf8)).string() == everything)
  }

  @Test("bytes that are no UTF-8 become replacement characters, and what is no number null")
  func unwritable() {
    #expect(text { $0.string(utf8: [0x61, 0xFF, 0x62]) } == "\"a\u{FFFD}b\"")
    #expect(text { $0.double(.infinity) } == "null")
    #expect(text { $0.double(.nan) } == "null")
  }

  @Test("whole numbers are written to the last digit")
  func wholeNumbers() {
    for number in [0, 7, 10, -1, Int.max, Int.min] {
      #expect(text { $0.integer(number) } == "\(number)")
    }
  }

  @Test("a writer takes more than it has room for")
  func growth() {
    for length in 0...200 {
      var writer = JSONWriter(reserving: 1)
      let value = String(repeating: "a", count: length)
      writer.array { json in
        json.string(value)
        json.raw(Array("true".utf8))
      }
      #expect(writer.finish() == Array("[\"\(value)\",true]".utf8))
    }
  }

  @Test("text is appended to what is there")
  func appending() {
    var writer = JSONWriter(appendingTo: Array("data: ".utf8))
    writer.bool(true)
    #expect(writer.finish() == Array("data: true".utf8))
  }

  @Test("what is written is JSON")
  func readBack() throws {
    let value = try JSONValue.parse(Array(text(sample).utf8))
    #expect(try value["count"]?.int64() == .min)
    let pretty = try JSONValue.parse(Array(text(pretty: true, sample).utf8))
    #expect(try pretty.object().map(\.name.string) == value.object().map(\.name.string))
  }
}

import JSON

/// The JSON reader: what it takes, the writer can write, and reads back as the same; what the
/// splitter cuts, it cuts as the reader does.
enum JSONFuzzer {
  static func run(_ bytes: [UInt8]) {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(bytes)
    } catch {
      expectHolds((0...bytes.count).contains(error.offset), "an error lies within the text")
      if let items = try? JSONArraySplitter.elementRanges(of: bytes, countMax: 100) {
        for item in items { _ = try? JSONValue.parse(bytes, in: item) }
      }
      return
    }
    expectHolds(String(validating: bytes, as: UTF8.self) != nil, "JSON is UTF-8")
    for pretty in [false, true] {
      var writer = JSONWriter(pretty: pretty)
      write(value, to: &writer)
      let text = writer.finish()
      guard let again = try? JSONValue.parse(text) else {
        fatalError("what the writer wrote cannot be read: \(String(decoding: text, as: UTF8.self))")
      }
      expectHolds(isSame(value, again), "what was written reads back as the same")
    }
    if value.kind == .array { checkSplitting(bytes, value) }
  }

  private static func checkSplitting(_ bytes: [UInt8], _ value: JSONValue) {
    guard let array = try? value.array(),
      let ranges = try? JSONArraySplitter.elementRanges(of: bytes, countMax: .max)
    else { fatalError("a sound array cannot be split") }
    expectSame(ranges, array.map(\.range), "where the elements lie")
  }

  private static func write(_ value: JSONValue, to writer: inout JSONWriter) {
    switch value.kind {
    case .object:
      guard let object = try? value.object() else { fatalError("an object is one") }
      writer.object { writer in
        for member in object {
          writer.name(member.name.string)
          write(member.value, to: &writer)
        }
      }
    case .array:
      guard let array = try? value.array() else { fatalError("an array is one") }
      writer.array { writer in for element in array { write(element, to: &writer) } }
    case .string:
      guard let text = try? value.string() else { fatalError("a string is one") }
      writer.string(text)
    case .boolean: writer.bool((try? value.bool()) ?? false)
    case .null: writer.null()
    case .number:
      if let number = try? value.int64() {
        writer.integer(number)
      } else {
        writer.raw(value.raw)
      }
    }
  }

  private static func isSame(_ one: JSONValue, _ other: JSONValue) -> Bool {
    guard one.kind == other.kind else { return false }
    switch one.kind {
    case .object:
      guard let one = try? one.object(), let other = try? other.object() else { return false }
      return one.map(\.name.string) == other.map(\.name.string)
        && zip(one, other).allSatisfy { isSame($0.value, $1.value) }
    case .array:
      guard let one = try? one.array(), let other = try? other.array() else { return false }
      let elements = (Array(one), Array(other))
      return elements.0.count == elements.1.count
        && zip(elements.0, elements.1).allSatisfy { isSame($0, $1) }
    case .string: return (try? one.utf8()) == (try? other.utf8())
    case .number:
      // A minus in front of zero is lost in a whole number.
      if let number = try? one.int64() { return (try? other.int64()) == number }
      return (try? one.double().bitPattern) == (try? other.double().bitPattern)
    case .boolean, .null: return one.raw.elementsEqual(other.raw)
    }
  }
}

/// Splits the text of an array into its elements, without looking into them.
///
/// So one bad item does not spoil a batch: each element can be read on its own, by
/// ``JSONValue/parse(_:in:)`` with its range, as long as brackets and quotes tell where it ends.
package enum JSONArraySplitter {
  /// The ranges of the elements, without white space around them.
  ///
  /// Guarantees that `text` is one array whose brackets, quotes and commas are sound; the inside of
  /// an element may still be anything.
  ///
  /// - Throws: ``JSONError`` if the text is no array, an element is missing between commas, a
  ///   bracket or quote is not closed, or there are more than `countMax` elements.
  package static func elementRanges(
    of text: [UInt8], countMax: Int
  ) throws(JSONError) -> [Range<Int>] {
    let result = text.withUnsafeBytes { bytes -> Result<[Range<Int>], JSONError> in
      var splitter = Splitter(bytes: bytes, countMax: countMax)
      do throws(JSONError) {
        return .success(try splitter.split())
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

/// The pass itself; the buffer is borrowed for the one `withUnsafeBytes` call that it lives in.
private struct Splitter {
  let bytes: UnsafeRawBufferPointer
  let countMax: Int
  var position = 0
  var ranges: [Range<Int>] = []
  /// The closing brackets that the current element still needs.
  var closers: [UInt8] = []

  mutating func split() throws(JSONError) -> [Range<Int>] {
    skipWhiteSpace()
    guard position < bytes.count, bytes[position] == .openBracket else {
      throw unexpected("an array")
    }
    position += 1
    skipWhiteSpace()
    if position < bytes.count, bytes[position] == .closeBracket {
      position += 1
    } else {
      repeat { try element() } while closedBy(.comma)
      position += 1
    }
    skipWhiteSpace()
    guard position == bytes.count else {
      throw error(.trailingContent, "expected the end of the text after the array")
    }
    return ranges
  }

  /// Whether the element just passed is followed by `closer`; steps over it if so.
  private mutating func closedBy(_ closer: UInt8) -> Bool {
    guard bytes[position] == closer else { return false }
    position += 1
    return true
  }

  /// Passes over one element, up to the comma or bracket that ends it.
  private mutating func element() throws(JSONError) {
    skipWhiteSpace()
    let start = position
    var end = position
    scan: while true {
      guard position < bytes.count else { throw unexpected("\"]\"") }
      switch bytes[position] {
      case .comma where closers.isEmpty, .closeBracket where closers.isEmpty: break scan
      case .quote: try string()
      case .openBrace: open(.closeBrace)
      case .openBracket: open(.closeBracket)
      case let closer where closer == .closeBrace || closer == .closeBracket:
        guard closers.popLast() == closer else { throw unexpected("a matching bracket") }
        position += 1
      case let byte where byte.isJSONWhiteSpace:
        position += 1
        continue
      default: position += 1
      }
      end = position
    }
    guard end > start else { throw unexpected("an element") }
    guard ranges.count < countMax else {
      throw error(.tooManyElements, "the array has more than \(countMax) elements")
    }
    ranges.append(start..<end)
  }

  private mutating func open(_ closer: UInt8) {
    closers.append(closer)
    position += 1
  }

  private mutating func string() throws(JSONError) {
    position = JSONScanner.skipString(bytes, from: position, to: bytes.count).end
    // A string that runs to the end has no closing quote, and so the array has no closing bracket.
    guard position < bytes.count else {
      position = bytes.count
      throw unexpected("\"]\"")
    }
  }

  private mutating func skipWhiteSpace() {
    position = JSONScanner.skipWhiteSpace(bytes, from: position, to: bytes.count)
  }

  private func unexpected(_ expected: String) -> JSONError {
    guard position < bytes.count else {
      return error(.unexpectedEnd, "expected \(expected) but found the end of the text")
    }
    return error(
      .unexpectedByte,
      "expected \(expected) but found \(JSONError.words(for: bytes[position]))")
  }

  private func error(_ kind: JSONError.Kind, _ reason: String) -> JSONError {
    let path = ranges.isEmpty && closers.isEmpty ? "" : "/\(ranges.count)"
    return JSONError(kind: kind, offset: position, path: path, reason: reason)
  }
}

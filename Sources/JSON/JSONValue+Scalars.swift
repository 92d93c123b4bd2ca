extension JSONValue {
  /// The text that a string stands for, its escapes resolved.
  ///
  /// - Throws: ``JSONError/Kind/wrongType`` for anything but a string.
  package func string() throws(JSONError) -> String {
    try requireString()
    return text.withUnsafeBytes { bytes in
      let inside = (range.lowerBound + 1)..<(range.upperBound - 1)
      let plainEnd = JSONScanner.endOfPlainRun(
        bytes, from: inside.lowerBound, to: inside.upperBound)
      guard plainEnd < inside.upperBound else {
        return String(decoding: bytes[inside], as: UTF8.self)
      }
      let decoded = JSONText.decode(bytes, from: inside.lowerBound, to: inside.upperBound)
      return String(decoding: decoded, as: UTF8.self)
    }
  }

  /// The UTF-8 of the text that a string stands for, its escapes resolved.
  ///
  /// - Throws: ``JSONError/Kind/wrongType`` for anything but a string.
  package func utf8() throws(JSONError) -> [UInt8] {
    try requireString()
    return text.withUnsafeBytes {
      JSONText.decode($0, from: range.lowerBound + 1, to: range.upperBound - 1)
    }
  }

  /// Whether the value is a string that stands for exactly `other`.
  package func equals(_ other: StaticString) -> Bool {
    guard kind == .string else { return false }
    return JSONName(text: text, range: (range.lowerBound + 1)..<(range.upperBound - 1))
      .equals(other)
  }

  /// The value of `true` or `false`.
  ///
  /// - Throws: ``JSONError/Kind/wrongType`` for anything else.
  package func bool() throws(JSONError) -> Bool {
    guard kind == .boolean else { throw wrongType(expected: "true or false") }
    return text[range.lowerBound] == 0x74
  }

  /// The number as a whole number.
  ///
  /// - Throws: ``JSONError/Kind/wrongType`` for anything but a number without fraction and
  ///   exponent; ``JSONError/Kind/numberOutOfRange`` if it does not fit.
  package func int64() throws(JSONError) -> Int64 {
    guard kind == .number else { throw wrongType(expected: "a whole number") }
    guard raw.allSatisfy({ $0.isDigit || $0 == .minus }) else {
      throw error(.wrongType, "expected a whole number but found \(numberText)")
    }
    guard let value = Int64(numberText) else {
      throw error(
        .numberOutOfRange,
        "expected a whole number from \(Int64.min) to \(Int64.max) but found \(numberText)")
    }
    return value
  }

  /// The number if it is whole, however it is written: 3.0 and 3e0 are whole numbers too (JSON
  /// Schema Validation, section 6.1.1); nil for everything else.
  package var wholeNumber: Int64? {
    (try? int64()) ?? (try? double()).flatMap(Int64.init(exactly:))
  }

  /// The number as a `Double`, rounded to the nearest one.
  ///
  /// - Throws: ``JSONError/Kind/wrongType`` for anything but a number;
  ///   ``JSONError/Kind/numberOutOfRange`` if it is too large for a finite one.
  package func double() throws(JSONError) -> Double {
    guard kind == .number else { throw wrongType(expected: "a number") }
    guard let value = Double(numberText), value.isFinite else {
      throw error(.numberOutOfRange, "the number \(numberText) is too large")
    }
    return value
  }

  /// The number as it was written.
  private var numberText: String { String(decoding: raw, as: UTF8.self) }

  private func requireString() throws(JSONError) {
    guard kind == .string else { throw wrongType(expected: "a string") }
  }
}

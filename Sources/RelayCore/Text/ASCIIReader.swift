/// Reads short, fixed forms of ASCII text from front to back, such as dates.
///
/// Each step returns nil or false if the text does not match; the caller then gives up.
struct ASCIIReader {
  private let bytes: ArraySlice<UInt8>
  private var position: Int

  init(_ bytes: some Collection<UInt8>) {
    self.bytes = Array(bytes)[...]
    position = self.bytes.startIndex
  }

  /// Whether everything has been read.
  var isAtEnd: Bool { position == bytes.endIndex }

  /// The next byte, without reading it.
  var peek: UInt8? { isAtEnd ? nil : bytes[position] }

  /// Reads exactly `text`.
  mutating func literal(_ text: StaticString) -> Bool {
    guard bytes.endIndex - position >= text.utf8CodeUnitCount else { return false }
    for index in 0..<text.utf8CodeUnitCount
    where bytes[position + index] != text.utf8Start[index] {
      return false
    }
    position += text.utf8CodeUnitCount
    return true
  }

  /// Reads one of `letters`, and returns it.
  mutating func oneOf(_ letters: StaticString) -> UInt8? {
    guard let byte = peek else { return nil }
    for index in 0..<letters.utf8CodeUnitCount where letters.utf8Start[index] == byte {
      position += 1
      return byte
    }
    return nil
  }

  /// Reads exactly `count` digits as a number.
  mutating func number(digits count: Int) -> Int? {
    var value = 0
    for _ in 0..<count {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  /// Reads one digit.
  mutating func digit() -> Int? {
    guard let byte = peek, byte &- 0x30 < 10 else { return nil }
    position += 1
    return Int(byte - 0x30)
  }

  /// Reads one of `words`, and returns its index; the first that matches wins.
  mutating func index(of words: [StaticString]) -> Int? {
    for (index, word) in words.enumerated() where literal(word) { return index }
    return nil
  }
}

/// Appends `value`, which must not be negative, in at least `width` digits.
func appendDigits(_ value: Int, width: Int, to bytes: inout [UInt8]) {
  let digits = Array(String(value).utf8)
  bytes.append(contentsOf: repeatElement(0x30, count: max(0, width - digits.count)))
  bytes.append(contentsOf: digits)
}

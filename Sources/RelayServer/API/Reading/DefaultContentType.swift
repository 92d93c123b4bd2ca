import RelayCore

/// The types that bodies get whose senders gave none.
enum DefaultContentType {
  /// The line for a body that is text.
  static let text: StaticString = "Content-Type: text/plain; charset=utf-8\r\n"
  /// The line for a body that is any other JSON.
  static let json: StaticString = "Content-Type: application/json\r\n"

  /// The whole header of an envelope with a body that is text, and no fields of its own.
  static let textBlock = block(text)
  /// The same for a body that is any other JSON.
  static let jsonBlock = block(json)

  private static func block(_ line: StaticString) -> RelayCore.HeaderBlock {
    var lines = HeaderLines()
    lines.prepend(line)
    return lines.block ?? RelayCore.HeaderBlock()
  }

  /// Whether a field's value is one of them.
  static func isOne(_ value: ArraySlice<UInt8>) -> Bool {
    value.elementsEqual("text/plain; charset=utf-8".utf8)
      || value.elementsEqual("application/json".utf8)
  }
}

/// The types that bodies get whose senders gave none.
enum DefaultContentType {
  /// The line for a body that is text.
  static let text: StaticString = "Content-Type: text/plain; charset=utf-8\r\n"
  /// The line for a body that is any other JSON.
  static let json: StaticString = "Content-Type: application/json\r\n"

  /// Whether a field's value is one of them.
  static func isOne(_ value: ArraySlice<UInt8>) -> Bool {
    value.elementsEqual("text/plain; charset=utf-8".utf8)
      || value.elementsEqual("application/json".utf8)
  }
}

// Words of strangers, made fit to stand among the relay's own.
extension String {
  /// The beginning of it as one line of visible ASCII, with a `?` for each other byte.
  package func visibleASCII(bytesMax: Int) -> String {
    let bytes = utf8.prefix(bytesMax).map { $0 >= 0x20 && $0 < 0x7F ? $0 : UInt8(ascii: "?") }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The same in one line, cut off between characters, with a `?` for each that could do more than
  /// be displayed.
  ///
  /// - Parameter bytesMax: The most bytes of it, with an ellipsis behind them if there are more.
  package func plainLine(bytesMax: Int) -> String {
    let isLong = utf8.count > bytesMax
    guard isLong || !utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return self }
    var line = ""
    var count = 0
    for scalar in unicodeScalars {
      let shown = scalar.isHostile ? "?" : scalar
      count += UTF8.width(shown)
      guard count <= bytesMax else { break }
      line.unicodeScalars.append(shown)
    }
    return isLong ? line + "…" : line
  }

  /// The text without the character 0, which not every database can keep.
  package var storable: String {
    utf8.contains(0) ? String(unicodeScalars.filter { $0 != "\0" }.map(Character.init)) : self
  }
}

import Glibc

/// One line on a terminal that is written over; nothing elsewhere.
struct ProgressLine {
  private let isShown = isatty(StandardStream.error.rawValue) == 1

  /// Shows a text in place of the last one.
  func show(_ text: String) {
    if isShown { StandardStream.error.write(Array("\r\u{1B}[K\(text)".utf8)) }
  }

  /// Leaves the line empty.
  func clear() {
    if isShown { StandardStream.error.write(Array("\r\u{1B}[K".utf8)) }
  }
}

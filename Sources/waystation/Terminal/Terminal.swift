import Glibc

/// The properties of standard output as a terminal.
struct Terminal: Equatable {
  /// Whether it is a terminal.
  var isTerminal = false
  /// Whether colours are wanted (<https://no-color.org>).
  var hasColours = false
  /// The number of columns; nil if lines may be of any length.
  var columns: Int?

  /// Plain text in lines of any length, as for a pipe.
  static let plain = Terminal()

  /// The properties that standard output has now.
  static func current(_ environment: [String: String]) -> Terminal {
    guard isatty(StandardStream.output.rawValue) == 1 else { return .plain }
    var size = winsize()
    let isKnown = ioctl(StandardStream.output.rawValue, UInt(TIOCGWINSZ), &size) == 0
    let isDumb = environment["TERM"] == nil || environment["TERM"] == "dumb"
    return Terminal(
      isTerminal: true, hasColours: !isDumb && (environment["NO_COLOR"] ?? "").isEmpty,
      columns: isKnown && size.ws_col >= 20 ? Int(size.ws_col) : 80)
  }

  /// The ways to highlight a text.
  enum Style: String {
    case bold = "1"
    case faint = "2"
    case good = "32"
    case warning = "33"
    case bad = "31"
  }

  /// The text in a style, if colours are wanted.
  func styled(_ text: String, _ style: Style?) -> String {
    guard hasColours, let style else { return text }
    return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
  }
}

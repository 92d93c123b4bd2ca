import Glibc

/// What standard output is, and how it may be written on.
struct Terminal: Equatable {
  /// Whether people look at it.
  var isTerminal = false
  /// Whether colours are wanted (<https://no-color.org>).
  var hasColours = false
  /// How many columns it has; nil where lines may be of any length.
  var columns: Int?

  /// Plain text without an end of the line, as for a pipe.
  static let plain = Terminal()

  /// What standard output is now.
  static func current(_ environment: [String: String]) -> Terminal {
    guard isatty(StandardStream.output.rawValue) == 1 else { return .plain }
    var size = winsize()
    let isKnown = ioctl(StandardStream.output.rawValue, UInt(TIOCGWINSZ), &size) == 0
    let isDumb = environment["TERM"] == nil || environment["TERM"] == "dumb"
    return Terminal(
      isTerminal: true, hasColours: !isDumb && (environment["NO_COLOR"] ?? "").isEmpty,
      columns: isKnown && size.ws_col >= 20 ? Int(size.ws_col) : 80)
  }

  /// How a text stands out.
  enum Style: String {
    case bold = "1"
    case faint = "2"
    case good = "32"
    case warning = "33"
    case bad = "31"
  }

  /// The text in a style, where there are colours.
  func styled(_ text: String, _ style: Style?) -> String {
    guard hasColours, let style else { return text }
    return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
  }
}

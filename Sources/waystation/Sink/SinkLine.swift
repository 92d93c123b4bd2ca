import RelayCore

/// One request that reached the sink, as a line to print.
struct SinkLine {
  /// The most characters of a body that are shown.
  static let bodyCharactersMax = 60
  /// The bytes of a body's beginning that are needed: at most 4 for a character, and one more.
  static let bodyBytesMax = bodyCharactersMax * 4 + 1
  /// The most characters that are shown of each other thing that the sender chose.
  static let wordCharactersMax = 200

  var time: WallTime
  var method: String
  var target: String
  /// nil if the sink was stopped before it responded.
  var status: Int?
  var byteCount: Int
  /// False if the sender stopped in the middle of the body.
  var isComplete = true
  var client: String?
  var attempt: String?
  var key: String?
  /// The first ``bodyBytesMax`` bytes of the body, or fewer.
  var bodyStart: [UInt8] = []

  /// The line, with its line end.
  var bytes: [UInt8] {
    let size = byteCount == 1 ? "1 byte" : "\(byteCount) bytes"
    var parts = [
      "\(clock) \(Self.shown(method)) \(Self.shown(target))",
      status.map(String.init) ?? "no answer",
      isComplete ? size : "broke off after \(size)",
    ]
    if let client { parts.append(Self.shown(client)) }
    if let attempt { parts.append("attempt " + Self.shown(attempt)) }
    if let key { parts.append("key " + Self.shown(key)) }
    if !bodyStart.isEmpty { parts.append(preview) }
    return Array(parts.joined(separator: "  ").utf8) + [0x0A]
  }

  /// The time of day in UTC, with milliseconds.
  private var clock: String {
    let milliseconds = time.millisecondsSinceEpoch % 86_400_000
    let seconds = milliseconds / 1000
    return Self.padded(seconds / 3600, 2) + ":" + Self.padded(seconds / 60 % 60, 2) + ":"
      + Self.padded(seconds % 60, 2) + "." + Self.padded(milliseconds % 1000, 3)
  }

  private var preview: String {
    // A character cut off at the end does not mean that the body is no text.
    let cut = byteCount > bodyStart.count ? 3 : 0
    for end in (max(0, bodyStart.count - cut)...bodyStart.count).reversed() {
      guard let text = String(validating: bodyStart[..<end], as: UTF8.self) else { continue }
      return Self.shown(text, max: Self.bodyCharactersMax, isCut: byteCount > end)
    }
    return "(not text)"
  }

  /// A text without characters that could move a terminal's cursor or begin another line.
  private static func shown(
    _ text: String, max: Int = wordCharactersMax, isCut: Bool = false
  ) -> String {
    var shown = String.UnicodeScalarView()
    var count = 0
    for scalar in text.unicodeScalars {
      if count == max { return String(shown) + "…" }
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned: shown.append(" ")
      default: shown.append(scalar)
      }
      count += 1
    }
    return String(shown) + (isCut ? "…" : "")
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

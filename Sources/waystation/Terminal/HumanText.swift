import RelayCore

/// Numbers, sizes and times as people read them.
enum HumanText {
  /// A whole number with thousands separators.
  static func count(_ number: Int64) -> String {
    let digits = String(number.magnitude)
    let parts = digits.enumerated().map { index, digit in
      index > 0 && (digits.count - index) % 3 == 0 ? ",\(digit)" : "\(digit)"
    }
    return (number < 0 ? "-" : "") + parts.joined()
  }

  /// A number of bytes in a fitting unit.
  static func bytes(_ number: Int64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    var value = Double(number)
    var index = 0
    while value >= 1024, index < units.count - 1 {
      value /= 1024
      index += 1
    }
    return (index == 0 ? "\(number)" : decimal(value)) + " \(units[index])"
  }

  /// A number with one decimal digit.
  static func decimal(_ value: Double) -> String {
    let tenths = Int64((min(max(value, -1e15), 1e15) * 10).rounded())
    return (tenths < 0 ? "-" : "") + "\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
  }

  /// A number of a second, with as many places as it takes to tell little from nothing.
  static func rate(_ perSecond: Double) -> String {
    guard (0.0001..<0.995).contains(perSecond) else { return decimal(perSecond) + "/s" }
    let (count, places) = perSecond < 0.0095 ? (1000.0, 3) : (100.0, 2)
    let digits = String(max(1, Int64((perSecond * count).rounded())))
    return "0." + String(repeating: "0", count: places - digits.count) + digits + "/s"
  }

  /// A time span, in one unit below an hour and in two from there on.
  static func span(milliseconds: Int64) -> String {
    let seconds = max(0, milliseconds) / 1000
    switch seconds {
    case 0..<60: return "\(seconds) s"
    case 60..<3600: return "\(seconds / 60) min"
    case 3600..<86_400: return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    default: return "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
    }
  }

  /// The time since an RFC 3339 time; the text itself, made safe for a terminal, if it is none.
  static func age(_ text: String?, now: WallTime) -> String {
    guard let text else { return "" }
    guard let time = RFC3339.parse(Array(text.utf8)) else { return SafeText.line(text) }
    return span(milliseconds: now.milliseconds(since: time))
  }

  /// The time of day of an RFC 3339 time, as in `12:00 UTC`, with the date if that is not today's;
  /// the text itself, made safe for a terminal, if it is none.
  static func clock(_ text: String?, now: WallTime) -> String {
    guard let text else { return "" }
    guard RFC3339.parse(Array(text.utf8)) != nil else { return SafeText.line(text) }
    let isToday = RFC3339.format(now).prefix(10) == text.prefix(10)
    let parts = text.prefix(16).split(separator: "T")
    return (isToday ? parts.dropFirst() : parts[...]).joined(separator: " ") + " UTC"
  }

  /// The time until an RFC 3339 time, or `now` if that is less than a second; the text itself, made
  /// safe for a terminal, if it is none.
  static func wait(_ text: String?, now: WallTime) -> String {
    guard let text else { return "" }
    guard let time = RFC3339.parse(Array(text.utf8)) else { return SafeText.line(text) }
    let waitMs = time.milliseconds(since: now)
    return waitMs < 1000 ? "now" : "in " + span(milliseconds: waitMs)
  }

  /// An RFC 3339 time to the second, as in `2026-03-01 12:00:00`; the text itself, made safe for a
  /// terminal, if it is none.
  static func time(_ text: String?) -> String {
    guard let text else { return "" }
    guard RFC3339.parse(Array(text.utf8)) != nil else { return SafeText.line(text) }
    return text.prefix(19).split(separator: "T").joined(separator: " ")
  }

  /// A number without separators, as scripts read it, with its noun.
  static func numbered(
    _ number: some BinaryInteger, _ one: String, _ many: String? = nil
  ) -> String {
    "\(number) " + (number == 1 ? one : many ?? one + "s")
  }

  /// The contents of a store: its envelopes, and how many of them wait.
  static func contents(envelopes: some BinaryInteger, waiting: some BinaryInteger) -> String {
    numbered(envelopes, "envelope") + ", "
      + numbered(waiting, "of them waits", "of them wait")
  }

  /// A count with its noun.
  static func counted(_ number: Int64, _ one: String, _ many: String? = nil) -> String {
    "\(count(number)) " + (number == 1 ? one : many ?? one + "s")
  }
}

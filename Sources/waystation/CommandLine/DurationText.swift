/// Durations as written on a command line: `200ms`, `10s`, `2m`.
enum DurationText {
  /// The form of such a text, as a part of a sentence.
  static let form = "a duration up to 24h, such as 200ms, 10s, 2m or 1h"

  /// The longest duration that is accepted, a day.
  static let millisecondsMax: Int64 = 86_400_000

  private static let units: [(suffix: String, milliseconds: Int64)] = [
    ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000),
  ]

  /// The milliseconds that a text stands for; nil if it is no duration, or is too long a one.
  static func milliseconds(_ text: String) -> Int64? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let suffix = text[digits.endIndex...]
    guard let number = Int64(digits), let unit = units.first(where: { $0.suffix == suffix })
    else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
    return overflow || product > millisecondsMax ? nil : product
  }

  /// The shortest exact text for a number of milliseconds.
  static func text(_ milliseconds: Int64) -> String {
    for unit in units.reversed() where milliseconds != 0 && milliseconds % unit.milliseconds == 0 {
      return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }
    return "0s"
  }
}

/// Timestamps by RFC 3339: `2026-01-02T03:04:05.678Z`.
package enum RFC3339 {
  /// The time that a text stands for; nil if it is no RFC 3339 timestamp or names no real time.
  ///
  /// Any offset and any number of fraction digits are accepted; what is finer than a millisecond is
  /// cut off. `t`, `z` and a space for `T` are accepted (section 5.6). Second 60 is accepted where
  /// a leap second can be, at 23:59:60 UTC, and counts as the second after it, as in POSIX time.
  package static func parse(_ text: some Collection<UInt8>) -> WallTime? {
    var reader = ASCIIReader(text)
    guard let year = reader.number(digits: 4), reader.literal("-"),
      let month = reader.number(digits: 2), reader.literal("-"),
      let day = reader.number(digits: 2), reader.oneOf("Tt ") != nil,
      let hour = reader.number(digits: 2), reader.literal(":"),
      let minute = reader.number(digits: 2), reader.literal(":"),
      let second = reader.number(digits: 2),
      let millisecond = fraction(&reader),
      let offsetMinutes = offset(&reader), reader.isAtEnd
    else { return nil }
    let date = CivilDate(
      year: year, month: month, day: day, hour: hour, minute: minute, second: second,
      millisecond: millisecond)
    guard date.exists else { return nil }
    let time = date.wallTime.adding(milliseconds: Int64(-offsetMinutes) * 60_000)
    if second == 60 {
      let next = CivilDate(time)
      guard next.hour == 0, next.minute == 0 else { return nil }
    }
    return time
  }

  /// A time in UTC with milliseconds, always 24 characters.
  ///
  /// Years outside 0 to 9999, which RFC 3339 cannot write, become the nearest time that it can.
  package static func format(_ time: WallTime) -> String {
    String(decoding: bytes(of: time), as: UTF8.self)
  }

  /// The same text in bytes.
  package static func bytes(of time: WallTime) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(form.utf8CodeUnitCount)
    append(time, to: &text)
    return text
  }

  /// Appends the bytes of ``bytes(of:)``.
  package static func append(_ time: WallTime, to text: inout [UInt8]) {
    let date = CivilDate(min(max(time, earliest), latest))
    let start = text.count
    form.withUTF8Buffer { text.append(contentsOf: $0) }
    var span = text.mutableSpan
    put(date.year, digits: 4, at: start, of: &span)
    put(date.month, digits: 2, at: start + 5, of: &span)
    put(date.day, digits: 2, at: start + 8, of: &span)
    put(date.hour, digits: 2, at: start + 11, of: &span)
    put(date.minute, digits: 2, at: start + 14, of: &span)
    put(date.second, digits: 2, at: start + 17, of: &span)
    put(date.millisecond, digits: 3, at: start + 20, of: &span)
  }

  private static let form: StaticString = "0000-00-00T00:00:00.000Z"

  /// Writes the last `count` digits of a number that is not negative.
  @inline(__always)
  private static func put(
    _ number: Int, digits count: Int, at start: Int, of text: inout MutableSpan<UInt8>
  ) {
    var rest = UInt32(truncatingIfNeeded: number)
    var place = start + count
    while place > start {
      place -= 1
      text[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
  }

  private static let earliest = CivilDate(year: 0, month: 1, day: 1).wallTime
  private static let latest = CivilDate(
    year: 9999, month: 12, day: 31, hour: 23, minute: 59, second: 59, millisecond: 999
  ).wallTime

  /// The milliseconds of an optional fraction; nil for a point without digits.
  private static func fraction(_ reader: inout ASCIIReader) -> Int? {
    guard reader.literal(".") else { return 0 }
    guard var milliseconds = reader.digit() else { return nil }
    var digits = 1
    while let digit = reader.digit() {
      if digits < 3 { milliseconds = milliseconds * 10 + digit }
      digits += 1
    }
    while digits < 3 {
      milliseconds *= 10
      digits += 1
    }
    return milliseconds
  }

  /// The offset from UTC in minutes; nil for anything but `Z` or `±hh:mm`.
  private static func offset(_ reader: inout ASCIIReader) -> Int? {
    guard let sign = reader.oneOf("Zz+-") else { return nil }
    if sign | 0x20 == UInt8(ascii: "z") { return 0 }
    guard let hours = reader.number(digits: 2), hours < 24, reader.literal(":"),
      let minutes = reader.number(digits: 2), minutes < 60
    else { return nil }
    return (sign == UInt8(ascii: "-") ? -1 : 1) * (hours * 60 + minutes)
  }
}

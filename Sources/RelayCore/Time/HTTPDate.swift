/// Dates in HTTP fields (RFC 9110 section 5.6.7).
package enum HTTPDate {
  /// The length of every date that ``format(_:)`` makes.
  package static let formattedBytes = 29

  /// A time as `Sun, 06 Nov 1994 08:49:37 GMT` (IMF-fixdate); fractions of a second are cut off.
  package static func format(_ time: WallTime) -> String {
    String(decoding: bytes(of: time), as: UTF8.self)
  }

  /// The same text in bytes.
  package static func bytes(of time: WallTime) -> [UInt8] {
    let date = CivilDate(time)
    var text: [UInt8] = []
    text.reserveCapacity(formattedBytes)
    append(weekdays[date.weekday], to: &text)
    append(", ", to: &text)
    appendDigits(date.day, width: 2, to: &text)
    append(" ", to: &text)
    append(months[date.month - 1], to: &text)
    append(" ", to: &text)
    appendDigits(max(0, date.year), width: 4, to: &text)
    append(" ", to: &text)
    appendDigits(date.hour, width: 2, to: &text)
    append(":", to: &text)
    appendDigits(date.minute, width: 2, to: &text)
    append(":", to: &text)
    appendDigits(date.second, width: 2, to: &text)
    append(" GMT", to: &text)
    return text
  }

  /// The time that a text stands for, in any of the three forms that RFC 9110 requires a recipient
  /// to accept; nil if it has none of them or names no real time.
  ///
  /// The weekday must be one, but is not compared with the date. Two-digit years more than 50 years
  /// ahead of `now` count as past, as the RFC requires. Second 60 counts as the second after it.
  package static func parse(_ text: some Collection<UInt8>, now: WallTime) -> WallTime? {
    let reader = ASCIIReader(text)
    let date = fixedDate(reader) ?? rfc850Date(reader, now: now) ?? asctimeDate(reader)
    guard let date, date.exists else { return nil }
    return date.wallTime
  }

  /// The form `Sun, 06 Nov 1994 08:49:37 GMT`.
  private static func fixedDate(_ start: ASCIIReader) -> CivilDate? {
    var reader = start
    guard reader.index(of: weekdays) != nil, reader.literal(", "),
      let day = reader.number(digits: 2), reader.literal(" "),
      let month = reader.index(of: months), reader.literal(" "),
      let year = reader.number(digits: 4), reader.literal(" "),
      let time = timeOfDay(&reader), reader.literal(" GMT"), reader.isAtEnd
    else { return nil }
    return CivilDate(
      year: year, month: month + 1, day: day, hour: time.hour, minute: time.minute,
      second: time.second)
  }

  /// The form `Sunday, 06-Nov-94 08:49:37 GMT`.
  private static func rfc850Date(_ start: ASCIIReader, now: WallTime) -> CivilDate? {
    var reader = start
    guard reader.index(of: longWeekdays) != nil, reader.literal(", "),
      let day = reader.number(digits: 2), reader.literal("-"),
      let month = reader.index(of: months), reader.literal("-"),
      let yearOfCentury = reader.number(digits: 2), reader.literal(" "),
      let time = timeOfDay(&reader), reader.literal(" GMT"), reader.isAtEnd
    else { return nil }
    let thisYear = CivilDate(now).year
    var year = thisYear / 100 * 100 + yearOfCentury
    if year > thisYear + 50 { year -= 100 }
    return CivilDate(
      year: year, month: month + 1, day: day, hour: time.hour, minute: time.minute,
      second: time.second)
  }

  /// The form `Sun Nov  6 08:49:37 1994`.
  private static func asctimeDate(_ start: ASCIIReader) -> CivilDate? {
    var reader = start
    guard reader.index(of: weekdays) != nil, reader.literal(" "),
      let month = reader.index(of: months), reader.literal(" "),
      let day = reader.literal(" ") ? reader.number(digits: 1) : reader.number(digits: 2),
      reader.literal(" "), let time = timeOfDay(&reader), reader.literal(" "),
      let year = reader.number(digits: 4), reader.isAtEnd
    else { return nil }
    return CivilDate(
      year: year, month: month + 1, day: day, hour: time.hour, minute: time.minute,
      second: time.second)
  }

  private static func timeOfDay(
    _ reader: inout ASCIIReader
  ) -> (hour: Int, minute: Int, second: Int)? {
    guard let hour = reader.number(digits: 2), reader.literal(":"),
      let minute = reader.number(digits: 2), reader.literal(":"),
      let second = reader.number(digits: 2)
    else { return nil }
    return (hour, minute, second)
  }

  private static func append(_ text: StaticString, to bytes: inout [UInt8]) {
    bytes.append(
      contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private static let weekdays: [StaticString] = [
    "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat",
  ]
  private static let longWeekdays: [StaticString] = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]
  private static let months: [StaticString] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}

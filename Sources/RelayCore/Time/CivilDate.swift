/// A date and time of day in UTC, by the Gregorian calendar, as components.
///
/// Leap seconds are not counted, as in POSIX time; calendar arithmetic follows Howard Hinnant's
/// "chrono-compatible low-level date algorithms".
struct CivilDate: Equatable, Sendable {
  var year: Int
  /// 1 to 12.
  var month: Int
  /// 1 to 31.
  var day: Int
  var hour = 0
  var minute = 0
  var second = 0
  var millisecond = 0

  static let millisecondsPerDay: Int64 = 86_400_000

  init(
    year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0,
    millisecond: Int = 0
  ) {
    (self.year, self.month, self.day) = (year, month, day)
    (self.hour, self.minute, self.second, self.millisecond) = (hour, minute, second, millisecond)
  }

  /// The date and time that `time` falls on.
  init(_ time: WallTime) {
    let milliseconds = time.millisecondsSinceEpoch
    // Rounds down before 1970 too.
    var days = milliseconds / Self.millisecondsPerDay
    var rest = milliseconds % Self.millisecondsPerDay
    if rest < 0 { (days, rest) = (days - 1, rest + Self.millisecondsPerDay) }
    let shifted = days + 719_468  // days since 0000-03-01
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
    year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    (hour, minute) = (Int(rest / 3_600_000), Int(rest / 60_000 % 60))
    (second, millisecond) = (Int(rest / 1000 % 60), Int(rest % 1000))
  }

  /// Whether such a day, and such a time of day, exist.
  ///
  /// Second 60, a leap second, counts as existing.
  var exists: Bool {
    (1...12).contains(month) && day >= 1 && day <= Self.days(inMonth: month, of: year)
      && (0...23).contains(hour) && (0...59).contains(minute) && (0...60).contains(second)
  }

  /// The time; second 60 counts as the first second of the next minute, as in POSIX time.
  var wallTime: WallTime {
    let seconds = Int64(hour * 3600 + minute * 60 + second)
    return WallTime(
      millisecondsSinceEpoch: daysSinceEpoch * Self.millisecondsPerDay + seconds * 1000
        + Int64(millisecond))
  }

  /// 0 for Sunday to 6 for Saturday; the epoch was a Thursday.
  var weekday: Int { Int(((daysSinceEpoch + 4) % 7 + 7) % 7) }

  private var daysSinceEpoch: Int64 {
    let shiftedYear = Int64(month <= 2 ? year - 1 : year)
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private static func days(inMonth month: Int, of year: Int) -> Int {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    default: 31
    }
  }
}

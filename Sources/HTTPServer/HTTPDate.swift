import RelayCore

/// Dates as HTTP writes them (IMF-fixdate, RFC 9110 section 5.6.7).
package enum HTTPDate {
  private static let days: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months: [StaticString] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// A time such as `Sun, 06 Nov 1994 08:49:37 GMT`.
  package static func text(_ time: WallTime) -> String {
    var seconds = time.millisecondsSinceEpoch / 1000
    if time.millisecondsSinceEpoch % 1000 < 0 { seconds -= 1 }
    var dayNumber = seconds / 86400
    var secondOfDay = seconds % 86400
    if secondOfDay < 0 {
      secondOfDay += 86400
      dayNumber -= 1
    }
    let weekday = ((dayNumber % 7) + 11) % 7  // 1970-01-01 was a Thursday.
    let (year, month, day) = civil(dayNumber)
    let clock = "\(two(secondOfDay / 3600)):\(two(secondOfDay / 60 % 60)):\(two(secondOfDay % 60))"
    return "\(days[Int(weekday)]), \(two(day)) \(months[Int(month) - 1]) \(year) \(clock) GMT"
  }

  private static func two(_ number: Int64) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }

  /// Year, month and day of a day's number since 1970-01-01, in the Gregorian calendar.
  ///
  /// Counts in eras of 400 years that begin on a 1 March, so that the leap day comes last.
  private static func civil(_ dayNumber: Int64) -> (Int64, Int64, Int64) {
    let shifted = dayNumber + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}

/// From where on something needs somebody.
package enum NeedLimits {
  /// The most needs of one kind that are listed; the last one says how many are left out.
  ///
  /// Where many are critical and many are not, there is room for as many of each.
  package static let listedOfKindMax = 50
  /// The share of an upstream's answers that fail, in percent: from here on somebody is told.
  package static let failingPercent = 20
  /// The least number of failing answers within the window before that counts.
  package static let failingMin = 5
  /// The least number of failing answers, and none that got through, that are critical.
  package static let failingCriticalMin = 20
  /// The least number of dead letters that nobody has put back in line.
  package static let deadLettersMin = 5
  /// The least number of refusals by one quota within a quarter of an hour.
  package static let quotaRefusalsMin = 100
  /// The age of a waiting envelope whose upstream answers, in milliseconds.
  package static let oldMs: Int64 = 15 * 60_000
  /// The age of a gap, in milliseconds.
  package static let gapMs: Int64 = 15 * 60_000
  /// The time before the end of a certificate from which on it is told, in milliseconds.
  package static let certificateMs: Int64 = 14 * 86_400_000
  /// The time before the end of a certificate from which on it is critical, in milliseconds.
  package static let certificateCriticalMs: Int64 = 3 * 86_400_000
  /// The room for new envelopes, in bytes, below which it is told.
  package static let roomLowBytes: Int64 = 2 << 30
  /// The room for new envelopes, in bytes, below which it is critical.
  package static let roomVeryLowBytes: Int64 = 256 << 20
  /// The time within which the disk would be full at the present pace, in milliseconds.
  package static let roomHorizonMs: Int64 = 6 * 3_600_000
  /// The least number of envelopes by which a backlog has to grow.
  package static let growthMin = 100
  /// The percentage of what it was that a backlog has to reach.
  package static let growthPercent = 110
  /// The percentage of the most that it was within that time below which a backlog is getting less.
  package static let growthRestPercent = 97
  /// The time over which growth is looked at, in milliseconds.
  package static let growthMs: Int64 = 15 * 60_000
  /// The least time over which growth counts, in milliseconds.
  package static let growthMinMs: Int64 = 2 * 60_000
  /// The most needs that the message of a start names in its sentence.
  package static let namedAtStartMax = 5
  /// The most characters of an upstream's words.
  package static let wordsMax = 200
}

import RelayCore

/// The pauses for which repeats of a line are held back.
package struct RepeatPace: Sendable, Equatable {
  /// The pause after the first line, in milliseconds.
  package var firstMs: Int64
  /// The longest time, in milliseconds: each is twice as long as the one before, up to this.
  package var longestMs: Int64

  /// Holds repeats back for so long.
  package init(firstMs: Int64, longestMs: Int64) {
    self.firstMs = firstMs
    self.longestMs = longestMs
  }

  /// For trouble that stays: told after 10 s, 20 s, 40 s, and then every ten minutes at least.
  package static let usual = RepeatPace(firstMs: 10_000, longestMs: 600_000)
  /// For what somebody who mends something elsewhere watches for.
  package static let steady = RepeatPace(firstMs: 1000, longestMs: 10_000)
}

/// Says which lines of the log repeat another one, and when they are told of.
///
/// The first line about a subject is written at once. Those that follow are held back and counted,
/// and the latest of them is told with the count when its time has come; a time without any ends
/// the silence, so that the next line is a first one again. At most ``subjectCountMax`` subjects
/// are known at a time; a line about one more is written as it comes.
package struct RepeatBook<Subject: Hashable & Sendable, Line: Sendable>: Sendable {
  /// The repeats that were held back about a subject.
  package struct Held: Sendable {
    /// The latest line.
    package let line: Line
    /// Their number.
    package let count: Int
    /// Within how many milliseconds: since the subject was last told of.
    package let withinMs: Int64
  }

  private struct Entry: Sendable {
    var pace: RepeatPace
    var pauseMs: Int64
    var toldAt: MonotonicTime
    var heldCount = 0
    var line: Line?

    var dueAt: MonotonicTime { toldAt.adding(milliseconds: pauseMs) }

    func held(_ line: Line, at now: MonotonicTime) -> Held {
      Held(line: line, count: heldCount, withinMs: now.milliseconds(since: toldAt))
    }
  }

  /// The most subjects that are known at a time.
  package static var subjectCountMax: Int { 256 }

  private var entries: [Subject: Entry] = [:]
  /// The end of the first pause, or a moment before it.
  private var earliestEnd: MonotonicTime?

  /// Knows of nothing.
  package init() {}

  /// The number of known subjects.
  package var subjectCount: Int { entries.count }

  /// Takes in a line; see ``takeDue(at:)`` for what to call before.
  ///
  /// - Returns: Whether it is to be written now; else it is held back.
  package mutating func note(
    _ line: @autoclosure () -> Line, about subject: Subject, _ pace: RepeatPace,
    at now: MonotonicTime
  ) -> Bool {
    if entries[subject] != nil {
      entries[subject]?.heldCount += 1
      entries[subject]?.line = line()
      return false
    }
    guard entries.count < Self.subjectCountMax else { return true }
    let entry = Entry(pace: pace, pauseMs: pace.firstMs, toldAt: now)
    entries[subject] = entry
    earliestEnd = min(earliestEnd ?? entry.dueAt, entry.dueAt)
    return true
  }

  /// Takes what is to be told of by now, the longest silent first.
  package mutating func takeDue(at now: MonotonicTime) -> [Held] {
    guard let earliestEnd, earliestEnd <= now else { return [] }
    let due = entries.filter { $0.value.dueAt <= now }.sorted { $0.value.dueAt < $1.value.dueAt }
    var told: [Held] = []
    for (subject, entry) in due {
      guard let line = entry.line else {
        entries[subject] = nil
        continue
      }
      told.append(entry.held(line, at: now))
      let pauseMs = min(entry.pauseMs * 2, entry.pace.longestMs)
      entries[subject] = Entry(pace: entry.pace, pauseMs: pauseMs, toldAt: now)
    }
    self.earliestEnd = entries.values.lazy.map(\.dueAt).min()
    return told
  }

  /// Takes all that is held back, due or not, and knows of nothing any more.
  package mutating func takeAll(at now: MonotonicTime) -> [Held] {
    let all = entries.values.sorted { $0.dueAt < $1.dueAt }
    self = RepeatBook()
    return all.compactMap { entry in entry.line.map { entry.held($0, at: now) } }
  }

  /// The time at which held-back repeats are due; nil if there are none.
  package var nextDue: MonotonicTime? {
    entries.values.lazy.filter { $0.line != nil }.map(\.dueAt).min()
  }
}

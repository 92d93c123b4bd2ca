/// How a store's transactions have gone since it was opened.
package struct CommitFigures: Sendable, Equatable {
  /// How long each took to be made durable, in microseconds.
  package private(set) var durations = Histogram(.storeMicroseconds)
  /// How many envelopes and changes of envelopes each held.
  package private(set) var changes = Histogram(.changes)

  /// None so far.
  package init() {}

  /// One more is on disk.
  package mutating func note(durationUs: Int64, changeCount: Int) {
    durations.observe(durationUs)
    changes.observe(Int64(changeCount))
  }
}

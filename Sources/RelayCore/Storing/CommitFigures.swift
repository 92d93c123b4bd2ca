/// Figures on a store's transactions since it was opened.
package struct CommitFigures: Sendable, Equatable {
  /// The time to make each one durable, in microseconds.
  package private(set) var durations = Histogram(.storeMicroseconds)
  /// The number of envelopes, and changes of envelopes, in each.
  package private(set) var changes = Histogram(.changes)

  /// Starts with none.
  package init() {}

  /// Notes a transaction that is on disk.
  package mutating func note(durationUs: Int64, changeCount: Int) {
    durations.observe(durationUs)
    changes.observe(Int64(changeCount))
  }
}

/// A request that was answered, as whoever counts them is told.
package struct AnsweredRequest: Sendable {
  /// The listener's number.
  package let listener: Int
  /// The status that was answered.
  package let status: Int
  /// How long it took from the moment its head was read until its answer was ready, what it waited
  /// for included; nil for one that was refused before anybody was asked.
  package let durationUs: Int64?

  /// Describes an answer.
  package init(listener: Int, status: Int, durationUs: Int64?) {
    self.listener = listener
    self.status = status
    self.durationUs = durationUs
  }
}

/// The connections of one listener.
package struct ListenerFigures: Sendable, Equatable {
  /// How many are open.
  package var open = 0
  /// How many were ever taken.
  package var accepted: UInt64 = 0
  /// How many were turned away, since there were as many as there may be.
  package var refused: UInt64 = 0

  /// None so far.
  package init() {}
}

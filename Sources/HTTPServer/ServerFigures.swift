/// An answered request, for those who count them.
package struct AnsweredRequest: Sendable {
  /// The listener's number.
  package let listener: Int
  /// The status of the response.
  package let status: Int
  /// The time in microseconds from reading the head until the response was ready, waiting included;
  /// nil if it was refused before a handler was asked.
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
  /// The number of open connections.
  package var open = 0
  /// The number of connections ever accepted.
  package var accepted: UInt64 = 0
  /// The number of connections refused at a limit.
  package var refused: UInt64 = 0

  /// Starts with none.
  package init() {}
}

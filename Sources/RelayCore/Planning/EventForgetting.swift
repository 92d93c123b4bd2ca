/// A step along the event log from its beginning on: which rows are forgotten.
///
/// The last one never is: it keeps the count.
package struct EventForgetting: Sendable {
  /// The last row to be forgotten, and the bytes of all rows up to it; nil for none.
  package private(set) var last: (number: Int64, bytesThrough: Int64)?
  /// Whether a row was met that stays.
  private var isAtEnd = false
  private let lastRow: Int64
  private let bytesMax: Int64

  /// Begins a step.
  ///
  /// - Parameter bytesMax: The bytes after which the step is over, roughly.
  package init(_ log: EventLog, bytesMax: Int64) {
    lastRow = log.lastRow
    self.bytesMax = log.bytesForgotten + bytesMax
  }

  /// Takes the next row, which is not the last one.
  ///
  /// - Returns: Whether the step goes on.
  package mutating func take(_ number: Int64, bytesThrough: Int64, isTooOld: Bool) -> Bool {
    guard isTooOld else {
      isAtEnd = true
      return false
    }
    last = (number, bytesThrough)
    return bytesThrough < bytesMax
  }

  /// Whether nothing is left that is too old.
  package var isDone: Bool { isAtEnd || last.map { $0.number == lastRow - 1 } ?? true }
}

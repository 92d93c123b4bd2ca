import HTTPServer
import RelayCore

/// The requests that were answered, by whom their listener is for and by the class of their status.
package struct RequestFigures: Sendable, Equatable {
  /// The classes of statuses.
  package static let classes = ["2xx", "3xx", "4xx", "5xx"]

  /// The counts of one class on one kind of listener.
  package struct Cell: Sendable, Equatable {
    /// The number of answers.
    package fileprivate(set) var count: UInt64 = 0
    /// Their durations in microseconds; answers that the server gave by itself are left out.
    package fileprivate(set) var durations = Histogram(.requestMicroseconds)
  }

  /// A cell for each class of each kind, a kind after the other.
  private var cells: [Cell]

  /// Begins to count for so many kinds of listeners.
  package init(kindCount: Int) {
    cells = [Cell](repeating: Cell(), count: kindCount * Self.classes.count)
  }

  /// The counts of one class.
  package func cell(kind: Int, codeClass: Int) -> Cell {
    cells[kind * Self.classes.count + codeClass]
  }

  /// Counts an answer on a listener of this kind.
  package mutating func count(_ request: AnsweredRequest, kind: Int) {
    // An upstream's answer that is passed through may have any status from 200 to 999.
    let codeClass = min(max(request.status / 100 - 2, 0), Self.classes.count - 1)
    let index = kind * Self.classes.count + codeClass
    cells[index].count &+= 1
    if let durationUs = request.durationUs { cells[index].durations.observe(durationUs) }
  }
}

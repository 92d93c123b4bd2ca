import RelayCore

/// The budget of log lines for each kind in a second, and the count of lines left out.
///
/// Each kind has room of its own: a storm of one leaves the lines of the others.
package struct LineBudget: Sendable, Equatable {
  /// The kinds of lines, each with a budget of its own.
  package enum Kind: Int, CaseIterable, Sendable {
    /// Lines of the levels `debug` and `info`.
    case course
    /// Lines of the levels `warning` and `error`.
    case trouble
    /// Lines of the access log.
    case access

    /// The most lines of one second; more are counted and left out.
    package var linesPerSecondMax: Int {
      switch self {
      case .course, .trouble: 500
      case .access: 10_000
      }
    }

    /// Its name in the log.
    package var label: String {
      switch self {
      case .course: "debug and info"
      case .trouble: "warning and error"
      case .access: "requests"
      }
    }
  }

  private struct Room: Equatable {
    var second: Int64 = 0
    var lineCount = 0
    var leftOutCount: Int64 = 0
  }

  private var rooms = [Room](repeating: Room(), count: Kind.allCases.count)

  /// Begins with nothing written.
  package init() {}

  /// Whether a kind has used up this second.
  package func isFull(_ kind: Kind, at now: MonotonicTime) -> Bool {
    let room = rooms[kind.rawValue]
    return room.second == Self.second(now) && room.lineCount >= kind.linesPerSecondMax
  }

  /// Takes room for a line; where there is none, counts it as left out.
  package mutating func take(_ kind: Kind, at now: MonotonicTime) -> Bool {
    let second = Self.second(now)
    if rooms[kind.rawValue].second != second {
      rooms[kind.rawValue].second = second
      rooms[kind.rawValue].lineCount = 0
    }
    guard rooms[kind.rawValue].lineCount < kind.linesPerSecondMax else {
      leaveOut(1, kind)
      return false
    }
    rooms[kind.rawValue].lineCount += 1
    return true
  }

  /// Counts lines that are left out for another reason.
  package mutating func leaveOut(_ count: Int, _ kind: Kind) {
    rooms[kind.rawValue].leftOutCount += Int64(count)
  }

  /// Whether any were left out that nobody has been told of.
  package var hasLeftOut: Bool { rooms.contains { $0.leftOutCount > 0 } }

  /// Takes the counts of those that were left out, of each kind that has room again.
  package mutating func takeLeftOut(at now: MonotonicTime) -> [(kind: Kind, count: Int64)] {
    Kind.allCases.compactMap { kind in
      let count = rooms[kind.rawValue].leftOutCount
      guard count > 0, !isFull(kind, at: now) else { return nil }
      rooms[kind.rawValue].leftOutCount = 0
      return (kind, count)
    }
  }

  /// Takes them all, whether or not there is room.
  package mutating func takeAllLeftOut() -> [(kind: Kind, count: Int64)] {
    Kind.allCases.compactMap { kind in
      let count = rooms[kind.rawValue].leftOutCount
      rooms[kind.rawValue].leftOutCount = 0
      return count > 0 ? (kind, count) : nil
    }
  }

  private static func second(_ now: MonotonicTime) -> Int64 { now.nanoseconds / 1_000_000_000 }
}

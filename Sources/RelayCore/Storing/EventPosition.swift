/// A position in the event log: between two entries.
///
/// Only the store that gives it out knows what its two numbers mean. For everybody else they grow
/// along the log, with gaps or without, are compared, and are printed in ids.
package struct EventPosition: Hashable, Comparable, Sendable {
  /// The store's number of a transaction; from 1 for one that logged something.
  package var row: Int64
  /// The place within that transaction, from 0.
  package var index: Int

  /// The position before everything that any store logs.
  package static let beginning = EventPosition(row: 0, index: 0)

  /// Makes a position of its two numbers; only stores, and what reads an event's id, have them.
  package init(row: Int64, index: Int) {
    self.row = row
    self.index = index
  }

  /// Orders from earlier to later.
  package static func < (left: Self, right: Self) -> Bool {
    (left.row, left.index) < (right.row, right.index)
  }
}

/// The id of an event, valid across restarts: its log, and the position after it.
///
/// As text: eight hexadecimal digits, and the position's two numbers, with dashes in between.
package struct EventID: Hashable, Sendable, CustomStringConvertible {
  /// A random number of the log, so that an event of another store is not mistaken for one of this.
  package var origin: UInt32
  /// The position after the event, from which a listener that has seen it goes on.
  package var position: EventPosition

  /// Puts an id together.
  package init(origin: UInt32, position: EventPosition) {
    self.origin = origin
    self.position = position
  }

  /// The text that a listener gives back.
  package var description: String {
    let digits = String(origin, radix: 16)
    let padding = String(repeating: "0", count: 8 - digits.utf8.count)
    return "\(padding)\(digits)-\(position.row)-\(position.index)"
  }

  /// Parses such a text; nil for any other.
  package init?(parsing text: some StringProtocol) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].utf8.count == 8,
      parts.allSatisfy({ $0.utf8.allSatisfy(Self.isLowercaseHexDigit) }),
      let origin = UInt32(parts[0], radix: 16), let row = Int64(parts[1]), row >= 1,
      let index = Int(parts[2])
    else { return nil }
    self.init(origin: origin, position: EventPosition(row: row, index: index))
  }

  private static func isLowercaseHexDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }
}

/// The extent of the event log at one moment.
package struct EventLogSpan: Hashable, Sendable {
  /// See ``EventID/origin``.
  package var origin: UInt32
  /// The position before the earliest entry that is kept.
  package var first: EventPosition
  /// The position after the latest entry.
  package var end: EventPosition

  /// Puts the parts together.
  package init(origin: UInt32, first: EventPosition, end: EventPosition) {
    self.origin = origin
    self.first = first
    self.end = end
  }

  /// Whether an id belongs to this log, and everything after it is kept.
  package func reaches(_ id: EventID) -> Bool {
    id.origin == origin && first <= id.position && id.position <= end
  }
}

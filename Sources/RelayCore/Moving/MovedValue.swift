/// A value of a row that is moved from one store into another one.
package enum MovedValue: Hashable, Sendable {
  case null
  /// A number, a time, a code, or a flag as 0 and 1.
  case integer(Int64)
  /// Text without the character 0, which not every store can keep.
  case text(String)
  case bytes([UInt8])

  /// The number; nil for anything else.
  package var integer: Int64? {
    if case .integer(let number) = self { number } else { nil }
  }

  /// The text; nil for anything else.
  package var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// The bytes; nil for anything else.
  package var bytes: [UInt8]? {
    if case .bytes(let bytes) = self { bytes } else { nil }
  }

  /// Roughly how many bytes it takes.
  package var byteCount: Int {
    switch self {
    case .null, .integer: 8
    case .text(let text): text.utf8.count
    case .bytes(let bytes): bytes.count
    }
  }
}

/// The values of a row, in the order of its table's columns.
package typealias MovedRow = [MovedValue]

/// The number of some rows, and a checksum over their values and their order.
package struct MovedDigest: Equatable, Sendable {
  /// The number of rows.
  package private(set) var count: Int64 = 0
  private var sum = Checksum()

  /// Of no rows.
  package init() {}

  /// Adds a row.
  package mutating func add(_ row: MovedRow) {
    count += 1
    for value in row {
      switch value {
      case .null: sum.add(0)
      case .integer(let number):
        sum.add(1)
        sum.add(UInt64(bitPattern: number))
      case .text(let text):
        sum.add(2)
        sum.add(field: text)
      case .bytes(let bytes):
        sum.add(3)
        sum.add(field: bytes)
      }
    }
  }

  /// Whether the same rows were added in the same order.
  package static func == (left: MovedDigest, right: MovedDigest) -> Bool {
    left.count == right.count && left.sum.value == right.sum.value
  }
}

import RelayCore
import SQLite

/// A number of a lane that no item will ever come under.
struct VoidNumber: Hashable, Sendable {
  let lane: LaneNumber
  let sequence: UInt64
}

extension OutboxFile {
  /// Stores that the relay is to be told not to wait for a number.
  func insert(_ number: VoidNumber) throws(StoreError) {
    try statements.insertVoid.run(number.lane.raw, Int64(clamping: number.sequence))
  }

  /// The relay knows of it.
  func delete(_ number: VoidNumber) throws(StoreError) {
    try statements.deleteVoid.run(number.lane.raw, Int64(clamping: number.sequence))
  }

  /// Whether the relay is still to be told of a number of a range.
  func hasVoid(
    of lane: LaneNumber, above number: Int64, through last: Int64
  ) throws(StoreError) -> Bool {
    try statements.voidsWithin.first(lane.raw, number, last) { _ throws(StoreError) in true }
      ?? false
  }

  /// The numbers of which the relay is to be told.
  func voidNumbers(countMax: Int) throws(StoreError) -> [VoidNumber] {
    statements.voids.set(Int64(countMax))
    defer { statements.voids.reset() }
    var numbers: [VoidNumber] = []
    while try statements.voids.step() {
      numbers.append(
        VoidNumber(
          lane: LaneNumber(raw: statements.voids.int(0)),
          sequence: UInt64(clamping: statements.voids.int(1))))
    }
    return numbers
  }
}

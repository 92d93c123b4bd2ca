import JSON
import RelayCore
import SQLite

/// A receipt that was verified, as it is kept.
struct KeptReceipt: Sendable, Equatable {
  /// Its place among the lane's: the latest one has the highest.
  var ordinal: Int64
  /// Whether the next receipt goes on with its chain.
  var isOpen: Bool
  /// The first number that was compared with what the device had sent.
  var checkedFrom: Int64
  /// The receipt.
  var signed: SignedReceipt
}

// Digests of what was sent under each number, as long as no receipt speaks of it, and receipts.
extension OutboxFile {
  // MARK: - Digests

  /// Stores what is sent under a number.
  func insert(digest: [UInt8], _ lane: LaneNumber, _ sequence: UInt64) throws(StoreError) {
    try statements.insertDigest.run(lane.raw, Int64(clamping: sequence), digest)
  }

  /// Whether it is known what is sent under a number.
  func hasDigest(_ lane: LaneNumber, _ sequence: Int64) throws(StoreError) -> Bool {
    try statements.hasDigest.first(lane.raw, sequence) { _ throws(StoreError) in true } ?? false
  }

  /// Forgets what is sent under a number.
  func deleteDigest(_ lane: LaneNumber, _ sequence: UInt64) throws(StoreError) {
    try statements.deleteDigest.run(lane.raw, Int64(clamping: sequence))
  }

  /// Forgets all digests of a lane up to a number.
  func deleteDigests(_ lane: LaneNumber, through sequence: Int64) throws(StoreError) {
    try statements.deleteDigests.run(lane.raw, sequence)
  }

  /// Forgets all digests.
  func deleteAllDigests() throws(StoreError) { try statements.deleteAllDigests.run() }

  /// Goes through the digests of a lane's numbers, in their order.
  func eachDigest(
    of lane: LaneNumber, above number: Int64, through last: Int64,
    _ take: (Int64, [UInt8]) -> Void
  ) throws(StoreError) {
    statements.digests.set(lane.raw, number, last)
    defer { statements.digests.reset() }
    while try statements.digests.step() {
      take(statements.digests.int(0), statements.digests.bytes(1))
    }
  }

  // MARK: - Receipts

  /// Stores a receipt, in the place of the one that had its ordinal.
  func store(_ receipt: KeptReceipt, of lane: LaneNumber) throws(StoreError) {
    try statements.storeReceipt.run(
      lane.raw, receipt.ordinal, receipt.isOpen, receipt.checkedFrom, receipt.signed.json)
  }

  /// Forgets a receipt.
  func forget(_ receipt: KeptReceipt, of lane: LaneNumber) throws(StoreError) {
    try statements.forgetReceipt.run(lane.raw, receipt.ordinal)
  }

  /// The receipts of a lane up to an ordinal, in their order.
  func receipts(
    of lane: LaneNumber, through ordinal: Int64
  ) throws(StoreError) -> [KeptReceipt] {
    statements.formerReceipts.set(lane.raw, ordinal)
    return try Self.receipts(statements.formerReceipts).map(\.receipt)
  }

  /// All receipts, those of a lane in their order.
  func allReceipts() throws(StoreError) -> [(lane: LaneNumber, receipt: KeptReceipt)] {
    try Self.receipts(statements.readReceipts)
  }

  private static func receipts(
    _ rows: borrowing Statement
  ) throws(StoreError) -> [(lane: LaneNumber, receipt: KeptReceipt)] {
    var found: [(LaneNumber, KeptReceipt)] = []
    defer { rows.reset() }
    while try rows.step() {
      let json = rows.bytes(4)
      guard let value = try? JSONValue.parse(json), let signed = SignedReceipt(value) else {
        throw StoreError(
          kind: .corrupt, operation: "read", subject: "a receipt",
          detail: "its row holds what this library has not written.")
      }
      let receipt = KeptReceipt(
        ordinal: rows.int(1), isOpen: rows.bool(2), checkedFrom: rows.int(3), signed: signed)
      found.append((LaneNumber(raw: rows.int(0)), receipt))
    }
    return found
  }

  // MARK: - What is kept in spite of receipts

  /// The last number of each lane whose body is kept until it is known how its item has ended.
  func keptThrough() throws(StoreError) -> [LaneNumber: UInt64] {
    var kept: [LaneNumber: UInt64] = [:]
    defer { statements.readKept.reset() }
    while try statements.readKept.step() {
      kept[LaneNumber(raw: statements.readKept.int(0))] =
        UInt64(clamping: statements.readKept.int(1))
    }
    return kept
  }

  /// Stores that the bodies of a lane up to a number are kept.
  func setKept(_ lane: LaneNumber, through number: UInt64) throws(StoreError) {
    try statements.writeKept.run(lane.raw, Int64(clamping: number))
  }

  /// The next items of a lane that the relay has, and whose numbers are in a range.
  func handed(
    of lane: LaneNumber, above number: Int64, through last: Int64, countMax: Int
  ) throws(StoreError) -> [KeptItem] {
    statements.handedWithin.set(lane.raw, number, last, Int64(countMax))
    return try Self.items(statements.handedWithin)
  }
}

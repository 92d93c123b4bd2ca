import RelayCore
import SQLite

// Items that the relay says have ended and has not signed for yet, and pages of its ledgers.
extension OutboxFile {
  // MARK: - What is not signed yet

  /// Notes that the end of an item is told, and not signed.
  func insertUnproven(_ lane: LaneNumber, _ sequence: UInt64) throws(StoreError) {
    try statements.insertUnproven.run(lane.raw, Int64(clamping: sequence))
  }

  /// Whether the end of an item is told, and not signed.
  func isUnproven(_ lane: LaneNumber, _ sequence: UInt64) throws(StoreError) -> Bool {
    try statements.isUnproven.first(lane.raw, Int64(clamping: sequence)) { _ throws(StoreError) in
      true
    } ?? false
  }

  /// The end of an item is signed, or is waited for no more.
  func deleteUnproven(_ lane: LaneNumber, _ sequence: UInt64) throws(StoreError) {
    try statements.deleteUnproven.run(lane.raw, Int64(clamping: sequence))
  }

  /// The lowest numbers of a lane whose ends are not signed.
  func unproven(
    of lane: LaneNumber, above number: Int64, countMax: Int
  ) throws(StoreError) -> [Int64] {
    var found: [Int64] = []
    statements.unproven.set(lane.raw, number, Int64(countMax))
    defer { statements.unproven.reset() }
    while try statements.unproven.step() { found.append(statements.unproven.int(0)) }
    return found
  }

  /// The lanes with numbers whose ends are not signed.
  func unprovenLanes() throws(StoreError) -> [LaneNumber] {
    var found: [LaneNumber] = []
    defer { statements.unprovenLanes.reset() }
    while try statements.unprovenLanes.step() {
      found.append(LaneNumber(raw: statements.unprovenLanes.int(0)))
    }
    return found
  }

  // MARK: - Pages

  /// Stores a page of a lane's ledger.
  func insert(_ page: SignedLedgerPage, of lane: LaneNumber) throws(StoreError) {
    let signature = page.signature
    try statements.insertPage.run(lane.raw, signature.first, signature.last, page.bytes)
  }

  /// The pages of a lane's ledger that speak for some numbers, in the order in which they came.
  func ledgerPages(
    of lane: LaneNumber, _ numbers: ClosedRange<Int64>
  ) throws(StoreError) -> [SignedLedgerPage] {
    var found: [SignedLedgerPage] = []
    statements.pages.set(lane.raw, numbers.lowerBound, numbers.upperBound)
    defer { statements.pages.reset() }
    while try statements.pages.step() {
      guard let page = SignedLedgerPage(statements.pages.bytes(0)) else {
        throw StoreError(
          kind: .corrupt, operation: "read", subject: "a page of a ledger",
          detail: "its row holds what this library has not written.")
      }
      found.append(page)
    }
    return found
  }

  /// The last number that a page of a lane's ledger speaks for; nil if there is none.
  func lastOnPages(of lane: LaneNumber) throws(StoreError) -> Int64? {
    try statements.lastOnPages.first(lane.raw) { row throws(StoreError) in row.optionalInt(0) }
      ?? nil
  }

  /// Forgets the pages of a lane that speak for no number above this one.
  func forgetPages(of lane: LaneNumber, through sequence: Int64) throws(StoreError) {
    try statements.forgetPages.run(lane.raw, sequence)
  }
}

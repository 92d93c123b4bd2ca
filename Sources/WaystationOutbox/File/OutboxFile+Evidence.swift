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

  /// Whether a number of a lane below this one has not come to the relay.
  func hasUnhanded(of lane: LaneNumber, below number: Int64) throws(StoreError) -> Bool {
    try statements.unhandedBelow.first(lane.raw, number) { _ throws(StoreError) in true } ?? false
  }

  // MARK: - Pages

  /// Stores a page of a lane's ledger.
  ///
  /// - Returns: Its number.
  func insert(_ page: SignedLedgerPage, of lane: LaneNumber) throws(StoreError) -> Int64 {
    let newest =
      try statements.newestPage.first { row throws(StoreError) in row.optionalInt(0) } ?? nil
    let id = (newest ?? 0) + 1
    try insert(page, of: lane, id: id)
    return id
  }

  /// Stores a page under its number.
  func insert(_ page: SignedLedgerPage, of lane: LaneNumber, id: Int64) throws(StoreError) {
    let signature = page.signature
    try statements.insertPage.run(id, lane.raw, signature.first, signature.last, page.bytes)
  }

  /// All pages, by their numbers, without those that hold what this library has not written.
  func allPages() throws(StoreError) -> [(id: Int64, lane: LaneNumber, page: SignedLedgerPage)] {
    var found: [(Int64, LaneNumber, SignedLedgerPage)] = []
    defer { statements.allPages.reset() }
    while try statements.allPages.step() {
      guard let page = SignedLedgerPage(statements.allPages.bytes(2)) else { continue }
      found.append((statements.allPages.int(0), LaneNumber(raw: statements.allPages.int(1)), page))
    }
    return found
  }

  /// Stores by which page an item has ended.
  func insertProof(of item: Int64, page: Int64) throws(StoreError) {
    try statements.insertProof.run(item, page)
  }

  /// The items that have ended by a page, and which.
  func proofs() throws(StoreError) -> [(item: Int64, page: Int64)] {
    var found: [(Int64, Int64)] = []
    defer { statements.proofs.reset() }
    while try statements.proofs.step() {
      found.append((statements.proofs.int(0), statements.proofs.int(1)))
    }
    return found
  }

  /// The page by which an item has ended; nil if it has not ended so.
  func pageOfProof(of item: Int64) throws(StoreError) -> SignedLedgerPage? {
    try statements.pageOfProof.first(item) { row throws(StoreError) in
      SignedLedgerPage(row.bytes(0))
    } ?? nil
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

  /// Forgets the pages of a lane that speak for no number above this one, and by which no item has
  /// ended whose ending is kept.
  func forgetPages(of lane: LaneNumber, through sequence: Int64) throws(StoreError) {
    try statements.forgetPages.run(lane.raw, sequence)
  }
}

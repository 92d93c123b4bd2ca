/// Where the receipts of what is accepted are kept.
package protocol ReceiptStore: Sendable {
  /// The chain of a lane, with the place of its head among the groups; nil if it has none.
  func chain(of lane: LaneName) async throws(StoreError) -> StoredChain?

  /// A group of receipts; nil if it is not kept any longer.
  func receiptGroup(_ number: Int64) async throws(StoreError) -> StoredGroup?

  /// Whether receipts were ever made of what the store has.
  func hasReceipts() async throws(StoreError) -> Bool

  /// The entries of a lane's ledger with these numbers, the lowest first; nil for a lane that is
  /// not known.
  ///
  /// - Parameter countMax: The most entries to read.
  func ledger(
    of lane: LaneName, _ numbers: ClosedRange<Int64>, countMax: Int
  ) async throws(StoreError) -> LedgerPage?

  /// Deletes the oldest groups that are not to be kept, and the oldest entries of ledgers.
  ///
  /// The last group always stays, and so do entries of envelopes that are on record.
  ///
  /// - Parameter countMax: The most of each to look at, so that a step is short.
  /// - Returns: Whether none are left to delete.
  func forgetReceipts(
    _ retention: ReceiptRetention, countMax: Int
  ) async throws(StoreError) -> Bool
}

/// Where the receipts of what is accepted are kept.
package protocol ReceiptStore: Sendable {
  /// The chain of a lane, with the place of its head among the groups; nil if it has none.
  func chain(of lane: LaneName) async throws(StoreError) -> StoredChain?

  /// A group of receipts; nil if it is not kept any longer.
  func receiptGroup(_ number: Int64) async throws(StoreError) -> StoredGroup?

  /// Deletes the oldest groups that are not to be kept. The last one always is.
  ///
  /// - Parameter countMax: The most groups to look at, so that a step is short.
  /// - Returns: Whether none are left to delete.
  func forgetReceipts(
    _ retention: ReceiptRetention, countMax: Int
  ) async throws(StoreError) -> Bool
}

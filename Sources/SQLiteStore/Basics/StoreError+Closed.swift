import RelayCore

extension StoreError {
  /// The error of every call after ``SQLiteStore/close()``.
  static func closed(operation: String) -> StoreError {
    StoreError(
      kind: .closed, operation: operation, subject: "the store", detail: "it has been closed.")
  }
}

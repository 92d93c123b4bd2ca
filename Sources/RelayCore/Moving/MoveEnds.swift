/// A store whose rows can be read in the form of ``MovedTable``.
package protocol MovedRows: AnyObject {
  /// Where it is, for people: never a password.
  var place: String { get }

  /// What it says of a move.
  func mark() throws(StoreError) -> MoveMark?

  /// Calls `body` with all rows of a table, in the order of its key, some at a time.
  func forEachBatch(
    of table: MovedTable, _ body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError)
}

/// The store that is moved, which nobody else writes to meanwhile.
package protocol MoveSource: MovedRows {
  /// Sets the mark, so that no relay starts on it any more; durable once it returns.
  func depart(_ mark: MoveMark) throws(StoreError)
}

/// The store that is made.
package protocol MoveTarget: MovedRows {
  /// Makes it ready to be written: empty, and marked; nobody else writes to it from then on.
  ///
  /// - Throws: ``StoreError`` if it has anything but the rest of a move that was cut off.
  func begin(_ mark: MoveMark) throws(StoreError)

  /// Appends rows, in the order of the table's key.
  func insert(_ rows: [MovedRow], into table: MovedTable) throws(StoreError)

  /// Derives what follows from the rows; all of it is durable once it returns.
  func settle() throws(StoreError)

  /// Takes the mark away, so that a relay starts on it; may be called again after a crash.
  func open() throws(StoreError)
}

/// A store whose rows can be read in the form of ``MovedTable``.
package protocol MovedRows: AnyObject {
  /// Where it is, for people: never a password.
  var place: String { get }

  /// What it says of a move.
  func mark() throws(StoreError) -> MoveMark?

  /// What tells this store's events from those of another one, and goes along with a move.
  ///
  /// - Returns: nil if there is no store, or nothing in it.
  func origin() throws(StoreError) -> Int64?

  /// Calls `body` with all rows of a table, in the order of its key, some at a time.
  func forEachBatch(
    of table: MovedTable, _ body: ([MovedRow]) throws(StoreError) -> Void
  ) throws(StoreError)
}

/// The store that is moved, which nobody else writes to meanwhile.
package protocol MoveSource: MovedRows {
  /// What to do about a store whose rows do not fit together, as sentences.
  var damageAdvice: String { get }

  /// Makes it ready to be read, which may bring its tables to the latest version.
  ///
  /// - Throws: ``StoreError`` if a part of it cannot be moved.
  func prepare() throws(StoreError)

  /// Sets the mark, so that no relay starts on it any more; durable once it returns.
  func depart(_ mark: MoveMark) throws(StoreError)
}

/// The store that is made.
package protocol MoveTarget: MovedRows {
  /// Refuses a place that has anything but the rest of a move that was cut off.
  func requireFree() throws(StoreError)

  /// Makes it ready to be written: empty, and marked; nobody else writes to it from then on.
  ///
  /// - Precondition: it is free.
  func begin(_ mark: MoveMark) throws(StoreError)

  /// Appends rows, in the order of the table's key.
  func insert(_ rows: [MovedRow], into table: MovedTable) throws(StoreError)

  /// Derives what follows from the rows; all of it is durable once it returns.
  func settle() throws(StoreError)

  /// What does not fit together in what was written, in a few words; nil if nothing was found.
  func damage() throws(StoreError) -> String?

  /// Takes the mark away, so that a relay starts on it; may be called again after a crash.
  func open() throws(StoreError)
}

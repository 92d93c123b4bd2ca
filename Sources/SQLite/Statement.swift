import CSQLite
import RelayCore

/// A prepared statement, kept for the life of its connection, and reset after each use.
///
/// Only the thread that owns the connection uses it. Binding is unchecked in release builds except
/// for the precondition below: an index out of range is our mistake, not the database's.
@usableFromInline
package struct Statement: ~Copyable {
  @usableFromInline let handle: OpaquePointer

  /// Prepares `sql` for many uses (`SQLITE_PREPARE_PERSISTENT`).
  package init(_ sql: String, on connection: borrowing Connection) throws(StoreError) {
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(
      connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let prepared else {
      throw StoreError(code: code, operation: "prepare", handle: connection.handle)
    }
    handle = prepared
  }

  deinit { sqlite3_finalize(handle) }

  /// Binds an integer.
  @inlinable
  package func bind(_ index: Int32, _ value: Int64) {
    check(sqlite3_bind_int64(handle, index, value))
  }

  /// Binds text; SQLite keeps a copy.
  @inlinable
  package func bind(_ index: Int32, _ value: String) {
    var value = value
    let code = value.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        waystation_bind_text_copied(
          handle, index, characters.baseAddress, UInt64(characters.count))
      }
    }
    check(code)
  }

  /// Binds bytes; SQLite keeps a copy.
  @inlinable
  package func bind(_ index: Int32, _ value: [UInt8]) {
    let code = value.withUnsafeBytes {
      waystation_bind_blob_copied(handle, index, $0.baseAddress, UInt64($0.count))
    }
    check(code)
  }

  /// Binds bytes without copying them.
  ///
  /// Sound only if the statement is run, and then rebound or cleared of its bindings, while `value`
  /// lives: see ``runBorrowing(_:_:)``.
  private func bindBorrowed(_ index: Int32, _ value: UnsafeRawBufferPointer) {
    check(waystation_bind_blob_borrowed(handle, index, value.baseAddress, UInt64(value.count)))
  }

  /// Binds any value; SQLite keeps a copy.
  @usableFromInline
  package func bind(_ index: Int32, _ value: StoredValue) {
    switch value {
    case .null: bindNull(index)
    case .integer(let number): bind(index, number)
    case .text(let text): bind(index, text)
    case .blob(let bytes): bind(index, bytes)
    }
  }

  /// The number of parameters.
  @inlinable package var parameterCount: Int32 { sqlite3_bind_parameter_count(handle) }

  /// Binds NULL.
  @inlinable
  package func bindNull(_ index: Int32) { check(sqlite3_bind_null(handle, index)) }

  /// Runs the statement to its end, with `bytes` bound at `index` without a copy.
  ///
  /// The bytes are borrowed only during this call: the statement is reset and the parameter set to
  /// NULL before it returns, so SQLite never sees them again.
  package func runBorrowing(_ index: Int32, _ bytes: [UInt8]) throws(StoreError) {
    let error = bytes.withUnsafeBytes { buffer -> StoreError? in
      bindBorrowed(index, buffer)
      let code = sqlite3_step(handle)
      sqlite3_reset(handle)
      // Before the next call, which clears the connection's message.
      let error = code == SQLITE_DONE ? nil : failure(code)
      sqlite3_bind_null(handle, index)
      return error
    }
    if let error { throw error }
  }

  /// Steps to the next row.
  ///
  /// - Returns: false if there is none; the statement is reset then.
  /// - Throws: The database's error; the statement is reset then too.
  @inlinable
  package func step() throws(StoreError) -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    sqlite3_reset(handle)
    guard code == SQLITE_DONE else { throw failure(code) }
    return false
  }

  /// Runs a statement that returns no rows, and resets it.
  @inlinable
  package func run() throws(StoreError) {
    let code = sqlite3_step(handle)
    sqlite3_reset(handle)
    guard code == SQLITE_DONE else { throw failure(code) }
  }

  /// The number of rows that the connection's last finished statement has inserted, changed or
  /// deleted.
  @inlinable package var changeCount: Int32 { sqlite3_changes(sqlite3_db_handle(handle)) }

  /// Releases the row, so that the read transaction that it holds open can end.
  @inlinable
  package func reset() { sqlite3_reset(handle) }

  /// The integer in a column of the present row.
  @inlinable
  package func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  /// The integer in a column of the present row; nil for NULL.
  @inlinable
  package func optionalInt(_ column: Int32) -> Int64? {
    sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : int(column)
  }

  /// The text in a column of the present row; nil for NULL.
  @inlinable
  package func text(_ column: Int32) -> String? {
    guard let start = sqlite3_column_text(handle, column) else { return nil }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// Whether the text in a column of the present row is UTF-8; true for NULL.
  package func isUTF8(_ column: Int32) -> Bool {
    guard let start = sqlite3_column_text(handle, column) else { return true }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(
      validating: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) != nil
  }

  /// The bytes in a column of the present row; empty for NULL.
  @inlinable
  package func bytes(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(handle, column) else { return [] }
    return [UInt8](
      UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
  }

  /// Whether a column of the present row is NULL.
  @inlinable
  package func isNull(_ column: Int32) -> Bool {
    sqlite3_column_type(handle, column) == SQLITE_NULL
  }

  @inlinable
  func check(_ code: Int32) {
    // SQLITE_NOMEM and SQLITE_TOOBIG appear again at the step, which then sees NULL where the
    // schema forbids it; any other code means a wrong index.
    precondition(code != SQLITE_RANGE && code != SQLITE_MISUSE, "a parameter that is not there")
  }

  @usableFromInline
  func failure(_ code: Int32) -> StoreError {
    let sql = sqlite3_sql(handle).map { String(cString: $0) } ?? ""
    let verb = sql.prefix { $0 != " " }.lowercased()
    return StoreError(
      code: code, operation: verb.isEmpty ? "run" : verb, handle: sqlite3_db_handle(handle))
  }
}

/// A statement that can be shared, and kept in a collection.
@usableFromInline
package final class SharedStatement {
  /// The statement.
  package let statement: Statement

  /// Prepares `sql`.
  package init(_ sql: String, on connection: borrowing Connection) throws(StoreError) {
    statement = try Statement(sql, on: connection)
  }
}

#if PostgreSQL
import CPostgres

/// The rows of one command's result.
///
/// To ask for a row or column that is not there, for a value of another type, or for the value of a
/// NULL is a programmer's mistake, and traps.
package final class PostgresRows {
  /// The result, which is cleared when this is no longer used.
  private let handle: OpaquePointer
  /// Kept since the result has its address, too.
  private let notices: Notices

  /// Takes over a result.
  init(_ handle: OpaquePointer, notices: Notices) {
    self.handle = handle
    self.notices = notices
  }

  deinit { PQclear(handle) }

  /// The number of rows.
  package var count: Int { Int(PQntuples(handle)) }

  /// The number of rows that were inserted, changed, deleted or selected.
  package var affectedCount: Int {
    PQcmdTuples(handle).flatMap { Int(String(cString: $0)) } ?? 0
  }

  /// Whether a value is NULL.
  package func isNull(_ row: Int, _ column: Int) -> Bool {
    check(row, column)
    return PQgetisnull(handle, Int32(row), Int32(column)) == 1
  }

  /// An `int8`, `int4`, `int2` or `xid8`.
  package func int64(_ row: Int, _ column: Int) -> Int64 {
    bytes(row, column, of: TypeNumber.isInteger) { Self.number($0) }
  }

  /// An `int8`, `int4`, `int2` or `xid8`; nil for NULL.
  package func int64OrNil(_ row: Int, _ column: Int) -> Int64? {
    isNull(row, column) ? nil : int64(row, column)
  }

  /// An `int4` or `int2`.
  package func int32(_ row: Int, _ column: Int) -> Int32 {
    bytes(row, column, of: { $0 == TypeNumber.int4 || $0 == TypeNumber.int2 }) {
      Int32(Self.number($0))
    }
  }

  /// An `int4` or `int2`; nil for NULL.
  package func int32OrNil(_ row: Int, _ column: Int) -> Int32? {
    isNull(row, column) ? nil : int32(row, column)
  }

  /// An `int2`.
  package func int16(_ row: Int, _ column: Int) -> Int16 {
    bytes(row, column, of: { $0 == TypeNumber.int2 }) { Int16(Self.number($0)) }
  }

  /// An `int2`; nil for NULL.
  package func int16OrNil(_ row: Int, _ column: Int) -> Int16? {
    isNull(row, column) ? nil : int16(row, column)
  }

  /// A `bool`.
  package func bool(_ row: Int, _ column: Int) -> Bool {
    bytes(row, column, of: { $0 == TypeNumber.bool }) { $0[0] != 0 }
  }

  /// A `bool`; nil for NULL.
  package func boolOrNil(_ row: Int, _ column: Int) -> Bool? {
    isNull(row, column) ? nil : bool(row, column)
  }

  /// A text of any of PostgreSQL's types that are sent as they are.
  package func text(_ row: Int, _ column: Int) -> String {
    bytes(row, column, of: TypeNumber.isText) { String(decoding: $0, as: UTF8.self) }
  }

  /// A text; nil for NULL.
  package func textOrNil(_ row: Int, _ column: Int) -> String? {
    isNull(row, column) ? nil : text(row, column)
  }

  /// A `bytea`.
  package func bytes(_ row: Int, _ column: Int) -> [UInt8] {
    bytes(row, column, of: { $0 == TypeNumber.bytea }) { [UInt8]($0) }
  }

  /// A `bytea`; nil for NULL.
  package func bytesOrNil(_ row: Int, _ column: Int) -> [UInt8]? {
    isNull(row, column) ? nil : bytes(row, column)
  }

  /// The 16 bytes of a `uuid`.
  package func uuid(_ row: Int, _ column: Int) -> [UInt8] {
    bytes(row, column, of: { $0 == TypeNumber.uuid }) { [UInt8]($0) }
  }

  /// The 16 bytes of a `uuid`; nil for NULL.
  package func uuidOrNil(_ row: Int, _ column: Int) -> [UInt8]? {
    isNull(row, column) ? nil : uuid(row, column)
  }

  /// An `int8[]` of one dimension, without NULLs.
  package func int64s(_ row: Int, _ column: Int) -> [Int64] {
    bytes(row, column, of: { $0 == TypeNumber.int8Array }) { bytes in
      let dimensions = Self.number(bytes[0..<4])
      precondition(dimensions <= 1, "an array of several dimensions")
      guard dimensions == 1 else { return [] }
      // The header and the one dimension, and then each element behind its length.
      return (0..<Int(Self.number(bytes[12..<16]))).map { index in
        let start = 20 + 12 * index
        precondition(Self.number(bytes[start..<start + 4]) == 8, "an array with a NULL")
        return Self.number(bytes[start + 4..<start + 12])
      }
    }
  }

  /// A number of up to eight bytes, the highest first, and with its sign.
  private static func number(_ bytes: some Collection<UInt8>) -> Int64 {
    let start: Int64 = bytes.first.map { $0 >= 0x80 ? -1 : 0 } ?? 0
    return bytes.reduce(start) { $0 << 8 | Int64($1) }
  }

  private func check(_ row: Int, _ column: Int) {
    precondition(
      row >= 0 && row < count && column >= 0 && column < PQnfields(handle),
      "a row or a column that is not there")
  }

  /// Hands over the bytes of a value.
  ///
  /// They belong to the result, which lives until `body` has returned.
  private func bytes<Value>(
    _ row: Int, _ column: Int, of isRight: (UInt32) -> Bool,
    _ body: (UnsafeBufferPointer<UInt8>) -> Value
  ) -> Value {
    check(row, column)
    let (line, field) = (Int32(row), Int32(column))
    precondition(PQgetisnull(handle, line, field) == 0, "the value of a NULL")
    let type = PQftype(handle, field)
    precondition(isRight(type), "a column of type \(type), which is another one")
    let count = Int(PQgetlength(handle, line, field))
    return withExtendedLifetime(self) {
      guard let start = PQgetvalue(handle, line, field) else {
        preconditionFailure("a value that is not there")
      }
      return start.withMemoryRebound(to: UInt8.self, capacity: count) {
        body(UnsafeBufferPointer(start: $0, count: count))
      }
    }
  }
}
#endif

import CSQLite
import Glibc
import RelayCore

extension StoreError {
  /// Takes a result code of SQLite's, with the message that its connection holds.
  ///
  /// The codes are those of <https://www.sqlite.org/rescode.html>.
  init(code: Int32, operation: String, handle: OpaquePointer?) {
    let message = handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
    let path = handle.flatMap { sqlite3_db_filename($0, nil) }.map { String(cString: $0) }
    let kind = Self.kind(ofCode: code)
    let text = message ?? String(cString: sqlite3_errstr(code))
    self.init(
      kind: kind, operation: operation, subject: path ?? "the store",
      detail: "\(text) (SQLite result \(code)). \(Self.advice(for: kind))")
  }

  private static func kind(ofCode code: Int32) -> Kind {
    switch code & 0xFF {
    case SQLITE_FULL: .diskFull
    case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM: .inputOutput
    case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
    default: .other
    }
  }

  private static func advice(for kind: Kind) -> String {
    switch kind {
    case .diskFull: "Make room on the disk; it goes on by itself."
    case .inputOutput: "Check the disk and the folder's permissions."
    case .corrupt: corruptAdvice
    default: "Nothing of it was written."
    }
  }

  /// What to do about a store whose contents make no sense.
  static let corruptAdvice =
    "Nothing was changed. Copy the data folder away, then try `sqlite3 FILE .recover`, or start "
    + "with another data folder."

  /// Takes `errno` of a system call that failed.
  init(errno number: Int32, operation: String, subject: String) {
    let kind: Kind = number == ENOSPC || number == EDQUOT ? .diskFull : .inputOutput
    let text = strerror(number).map { String(cString: $0) } ?? "error \(number)"
    self.init(
      kind: kind, operation: operation, subject: subject,
      detail: "\(text). \(Self.advice(for: kind))")
  }

  /// The answer to every call after ``SQLiteStore/close()``.
  static func closed(operation: String) -> StoreError {
    StoreError(
      kind: .closed, operation: operation, subject: "the store", detail: "it has been closed.")
  }
}

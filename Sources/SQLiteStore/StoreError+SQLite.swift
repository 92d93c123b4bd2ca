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
    let kind = Self.kind(ofCode: code, handle: handle)
    let text = message ?? String(cString: sqlite3_errstr(code))
    self.init(
      kind: kind, operation: operation, subject: path ?? "the store",
      detail: "\(text) (SQLite result \(code)). \(Self.advice(for: kind))")
  }

  /// SQLite says `SQLITE_FULL` for `ENOSPC` of a write alone: a quota, or a sync that finds no
  /// room, is an error of input and output to it.
  private static func kind(ofCode code: Int32, handle: OpaquePointer?) -> Kind {
    switch code & 0xFF {
    case SQLITE_IOERR where handle.map { isLackOfRoom(waystation_last_errno($0)) } == true,
      SQLITE_CANTOPEN where handle.map { isLackOfRoom(sqlite3_system_errno($0)) } == true:
      .diskFull
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
    "Nothing was changed. Copy the data folder away; `waystation store check` says what is "
    + "damaged, `waystation store salvage` makes a new store of what can be read, and "
    + "`waystation serve --set-aside-damaged` moves it aside and begins anew."

  private static func isLackOfRoom(_ number: Int32) -> Bool {
    number == ENOSPC || number == EDQUOT
  }

  /// Takes `errno` of a system call that failed.
  init(errno number: Int32, operation: String, subject: String) {
    let kind: Kind = Self.isLackOfRoom(number) ? .diskFull : .inputOutput
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

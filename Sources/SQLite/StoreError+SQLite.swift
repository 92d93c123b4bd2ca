import CSQLite
import Glibc
import RelayCore

extension StoreError {
  /// Makes an error from a result code of SQLite, with its connection's message.
  ///
  /// <https://www.sqlite.org/rescode.html> lists the codes.
  init(code: Int32, operation: String, handle: OpaquePointer?) {
    let message = handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
    let path = handle.flatMap { sqlite3_db_filename($0, nil) }.map { String(cString: $0) }
    let kind = Self.kind(ofCode: code, handle: handle)
    let text = message ?? String(cString: sqlite3_errstr(code))
    self.init(
      kind: kind, operation: operation, subject: path ?? "the store",
      detail: "\(text) (SQLite result \(code)). \(Self.advice(for: kind))")
  }

  /// The log's index cannot grow (`SQLITE_IOERR_SHMSIZE`), which takes nothing but room.
  private static let indexHasNoRoom = SQLITE_IOERR | 19 << 8

  /// The kind of error for a code.
  ///
  /// SQLite reports `SQLITE_FULL` only for a write's `ENOSPC`. A quota, or a sync that finds no
  /// room, is an input/output error to it.
  private static func kind(ofCode code: Int32, handle: OpaquePointer?) -> Kind {
    switch code & 0xFF {
    case _ where code == indexHasNoRoom: .diskFull
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
    case .diskFull: roomAdvice
    case .inputOutput: "Check the disk and the folder's permissions."
    case .corrupt: corruptAdvice
    default: "Nothing of it was written."
    }
  }

  /// The advice for a relay whose disk is full.
  package static let roomAdvice = "Make room on the disk; it goes on by itself."

  /// The advice for a store with invalid content.
  package static let corruptAdvice =
    "Nothing was changed. Copy the data folder away; `waystation store check` names the "
    + "damage, `waystation store salvage` makes a new store of everything that can be read, and "
    + "`waystation serve --set-aside-damaged` moves it aside and begins a new one."

  private static func isLackOfRoom(_ number: Int32) -> Bool {
    number == ENOSPC || number == EDQUOT
  }

  /// Makes an error from `errno` of a failed system call.
  package init(errno number: Int32, operation: String, subject: String) {
    let kind: Kind = Self.isLackOfRoom(number) ? .diskFull : .inputOutput
    let text = strerror(number).map { String(cString: $0) } ?? "error \(number)"
    self.init(
      kind: kind, operation: operation, subject: subject,
      detail: "\(text). \(Self.advice(for: kind))")
  }
}

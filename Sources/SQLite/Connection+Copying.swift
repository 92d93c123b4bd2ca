import CSQLite
import RelayCore

extension Connection {
  /// Copies the whole database into another one by SQLite's online backup.
  ///
  /// <https://www.sqlite.org/backup.html> has the rules: a commit of another connection makes it
  /// start over, unless this one holds a read transaction open.
  ///
  /// - Parameters:
  ///   - copy: Whose content is replaced; of no use if this throws.
  ///   - pagesAStep: The number of pages that are copied between two reports.
  ///   - progress: Is told the pages so far, and all of them; ends the copy by throwing.
  /// - Returns: The number of pages.
  package func copyAll(
    to copy: borrowing Connection, pagesAStep: Int32,
    progress: (_ done: Int, _ all: Int) throws(StoreError) -> Void
  ) throws(StoreError) -> Int {
    guard let backup = sqlite3_backup_init(copy.handle, "main", handle, "main") else {
      throw StoreError(
        code: sqlite3_errcode(copy.handle), operation: "back up", handle: copy.handle)
    }
    var code = sqlite3_backup_step(backup, pagesAStep)
    while code == SQLITE_OK {
      let all = Int(sqlite3_backup_pagecount(backup))
      do throws(StoreError) {
        try progress(all - Int(sqlite3_backup_remaining(backup)), all)
      } catch {
        sqlite3_backup_finish(backup)
        throw error
      }
      code = sqlite3_backup_step(backup, pagesAStep)
    }
    let pages = Int(sqlite3_backup_pagecount(backup))
    // It hands the copy's connection the message of an error.
    let ending = sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE, ending == SQLITE_OK else {
      throw StoreError(
        code: code == SQLITE_DONE ? ending : code, operation: "back up", handle: copy.handle)
    }
    return pages
  }
}

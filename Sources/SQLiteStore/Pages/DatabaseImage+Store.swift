import RelayCore
import SQLitePages

extension DatabaseImage {
  /// Opens a store's database; a missing log counts as empty.
  ///
  /// - Throws: ``StoreError/Kind/corrupt`` if there is no database file.
  init(path: String) throws(StoreError) {
    try self.init(
      path: path,
      form: DatabaseForm(
        pageBytes: StoreTuning.pageBytes, latestVersion: Int(Migration.latest),
        unsyncedCommitsMax: StoreTuning.unsyncedCommitsMax, hasPointerMaps: true, readsIndex: true))
  }
}

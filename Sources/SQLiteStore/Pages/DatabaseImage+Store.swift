import RelayCore
import SQLitePages

extension DatabaseImage {
  /// Opens the database of the store in a folder; a missing log counts as empty, unless its index
  /// says that there was more.
  ///
  /// - Throws: ``StoreError/Kind/corrupt`` if there is no database file.
  init(ofStoreIn folder: String) throws(StoreError) {
    try self.init(
      path: DataFolder.database(in: folder),
      indexTrust: BootMarker.isOfThisBoot(folder) ? .exact : .hint)
  }

  /// Opens a database of a store.
  ///
  /// - Throws: ``StoreError/Kind/corrupt`` if there is no such file.
  init(path: String, indexTrust: DatabaseForm.IndexTrust) throws(StoreError) {
    try self.init(
      path: path,
      form: DatabaseForm(
        pageBytes: StoreTuning.pageBytes, latestVersion: Int(Migration.latest),
        unsyncedCommitsMax: StoreTuning.unsyncedCommitsMax, hasPointerMaps: true,
        indexTrust: indexTrust))
  }
}

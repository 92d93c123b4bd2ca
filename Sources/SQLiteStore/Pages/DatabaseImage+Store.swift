import RelayCore
import SQLitePages

extension DatabaseImage {
  /// Opens the database of the store in a folder; a missing log counts as empty, unless something
  /// says that there was more.
  ///
  /// - Throws: ``StoreError/Kind/corrupt`` if there is no database file.
  init(ofStoreIn folder: String) throws(StoreError) {
    let path = DataFolder.database(in: folder)
    self = try DatabaseImage(path: path, indexTrust: .hint)
    let missing = missingCommits(ofStoreIn: folder)
    guard missing > 0 else { return }
    self = try DatabaseImage(path: path, indexTrust: .proven)
    missingCommits = missing
  }

  /// By how much its log of events ends before what was acknowledged; 0 where that is not known.
  private func missingCommits(ofStoreIn folder: String) -> Int64 {
    guard let acknowledged = AcknowledgedMark.events(in: folder),
      let last = lastRow(ofTable: "event_log")
    else { return 0 }
    return max(0, acknowledged - last)
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

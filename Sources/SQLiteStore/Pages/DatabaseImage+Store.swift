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
    // The index may be of another store than database and log together, such as an older copy.
    if logImage.isDamaged { goBy(try DatabaseImage(path: path, indexTrust: .none)) }
    let missing = missingCommits(ofStoreIn: folder)
    guard missing > 0 else { return }
    goBy(try DatabaseImage(path: path, indexTrust: .proven), evenIfAsLong: true)
    missingCommits = missing
  }

  /// The table whose rows tell which of two readings goes further.
  private static let eventTable = "event_log"

  /// Takes another reading of the same files, if it goes further.
  private mutating func goBy(_ other: DatabaseImage, evenIfAsLong: Bool = false) {
    let own = lastRow(ofTable: Self.eventTable) ?? 0
    let others = other.lastRow(ofTable: Self.eventTable) ?? 0
    if others > own || evenIfAsLong && others == own { self = other }
  }

  /// By how much its log of events ends before what was acknowledged; 0 where that is not known.
  private func missingCommits(ofStoreIn folder: String) -> Int64 {
    guard let acknowledged = AcknowledgedMark.events(in: folder),
      let last = lastRow(ofTable: Self.eventTable)
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

/// What is known of a database before a page of it is read: who writes it, and how.
package struct DatabaseForm: Sendable {
  /// The size of a page, where the file does not say it.
  package var pageBytes: Int
  /// The latest version of the tables.
  package var latestVersion: Int
  /// The most commits that are in the log and not known to be on the disk.
  ///
  /// Part of what a log may look like after a power cut: see ``LogImage``.
  package var unsyncedCommitsMax: Int
  /// Whether it says of each page what it is for (`auto_vacuum`): see ``PointerMap``.
  package var hasPointerMaps: Bool
  /// How much is known by the log's index.
  package var indexTrust: IndexTrust

  /// How much of a log's index can be relied upon.
  package enum IndexTrust: Sendable {
    /// None of it, or there is none.
    case none
    /// That it belongs to the log, or is seen not to: a power cut may have left an old one, or one
    /// that names what was not synced.
    case hint
    /// That what it names and is not there was lost, unless it is an old one: the store is known to
    /// lack commits that were acknowledged.
    case proven
  }

  /// Describes a database.
  package init(
    pageBytes: Int, latestVersion: Int, unsyncedCommitsMax: Int, hasPointerMaps: Bool,
    indexTrust: IndexTrust
  ) {
    self.pageBytes = pageBytes
    self.latestVersion = latestVersion
    self.unsyncedCommitsMax = unsyncedCommitsMax
    self.hasPointerMaps = hasPointerMaps
    self.indexTrust = indexTrust
  }
}

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
  /// Whether the log's index says how far the log goes.
  package var readsIndex: Bool

  /// Describes a database.
  package init(
    pageBytes: Int, latestVersion: Int, unsyncedCommitsMax: Int, hasPointerMaps: Bool,
    readsIndex: Bool
  ) {
    self.pageBytes = pageBytes
    self.latestVersion = latestVersion
    self.unsyncedCommitsMax = unsyncedCommitsMax
    self.hasPointerMaps = hasPointerMaps
    self.readsIndex = readsIndex
  }
}

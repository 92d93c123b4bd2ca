import EventLoop
import Glibc
import RelayCore
import SQLite

/// Moves a damaged store out of the way, within its data folder, so that nothing is deleted.
enum SetAside {
  private static let prefix = "damaged-"

  /// Moves all files of the store into a folder of its own.
  ///
  /// - Returns: That folder.
  static func move(_ folder: String) throws(StoreError) -> String {
    let begun = unfinished(in: folder)
    let aside = if let begun { begun } else { try begin(folder) }
    // The database first and the marker last. If this is cut off in between, the next start finds
    // that a store was begun and its database is gone; it never finds an old database that has lost
    // its log.
    for name in [
      "waystation.sqlite3", "waystation.sqlite3-wal", "waystation.sqlite3-shm",
      "waystation.sqlite3-journal", "acknowledged", "bodies", "begun",
    ] {
      guard rename("\(folder)/\(name)", "\(aside)/\(name)") == 0 || errno == ENOENT else {
        throw StoreError(errno: errno, operation: "move aside", subject: "\(folder)/\(name)")
      }
    }
    guard mkdir(folder + "/bodies", 0o700) == 0 || errno == EEXIST else {
      throw StoreError(errno: errno, operation: "create", subject: folder + "/bodies")
    }
    try DataFolder.sync(folder: aside)
    try DataFolder.sync(folder: folder)
    return aside
  }

  private static func begin(_ folder: String) throws(StoreError) -> String {
    let time = RFC3339.format(WallClock.now()).replacing(":", with: "-").replacing(".", with: "-")
    let aside = "\(folder)/\(prefix)\(time)"
    guard mkdir(aside, 0o700) == 0 else {
      throw StoreError(errno: errno, operation: "create", subject: aside)
    }
    return aside
  }

  /// The folder of a move that was cut off after the database and before the rest.
  private static func unfinished(in folder: String) -> String? {
    guard DataFolder.size(ofFile: DataFolder.database(in: folder)) == 0,
      StoreMarker.exists(in: folder), let aside = latest(in: folder),
      !StoreMarker.exists(in: aside), DataFolder.size(ofFile: DataFolder.database(in: aside)) > 0
    else { return nil }
    return aside
  }

  /// The folder that was moved aside last; nil if there is none.
  static func latest(in folder: String) -> String? {
    let names = (try? DataFolder.names(in: folder)) ?? []
    return names.filter { $0.hasPrefix(prefix) }.max().map { "\(folder)/\($0)" }
  }
}

/// The findings of a start about a store that it opened.
struct StartFindings: Sendable, Equatable {
  /// The damaged store that was moved aside in the folder.
  var setAside: SetAsideStore?
  /// Whether tokens or revocations may have been lost with a damaged store.
  var mayLackTokens = false
  /// A description of harmless findings; nil if there were none.
  var note: String?

  /// Adds another harmless finding.
  mutating func add(note other: String) { note = note.map { "\($0); \(other)" } ?? other }
}

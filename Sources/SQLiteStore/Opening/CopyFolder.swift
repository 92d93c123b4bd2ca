import EventLoop
import Glibc
import RelayCore

/// The folder that a copy of a store is written to.
///
/// The database's file is made first, under another name, and renamed last. So a folder with that
/// name holds a copy that was cut off, and nothing that anybody needs.
struct CopyFolder: ~Copyable {
  private let folder: DataFolder
  /// Whether the folder was made here.
  private let isNew: Bool

  /// The database file of a complete copy.
  var database: String { folder.database }
  /// The database file until the copy is complete.
  var part: String { Self.part(in: folder.path) }
  /// The folder itself.
  var path: String { folder.path }
  /// The folder of the bodies that are too large for the database.
  var bodies: String { folder.bodies }

  /// Creates the folder, or takes an empty one, or the rest of a copy that was cut off, and locks
  /// it.
  ///
  /// - Throws: ``StoreError`` if it holds anything else, or another copy is being written there.
  static func claim(_ path: String) throws(StoreError) -> CopyFolder {
    let found = try requireFree(path)
    let folder = try DataFolder.claim(path)
    // The other copy may have been completed between the look and the lock.
    try requireFree(path)
    for name in try DataFolder.names(in: folder.bodies) ?? [] {
      unlink("\(folder.bodies)/\(name)")
    }
    // The last one that goes: it says that the others are the rest of a copy.
    for file in leftovers(in: path).reversed() { unlink(file) }
    let copy = CopyFolder(folder: folder, isNew: found == nil)
    _ = try FileDescriptor.open(copy.part, O_WRONLY | O_CREAT, to: "create")
    return copy
  }

  private init(folder: consuming DataFolder, isNew: Bool) {
    self.folder = folder
    self.isNew = isNew
  }

  private static func part(in path: String) -> String { DataFolder.database(in: path) + ".part" }

  /// The files that a copy or a move may leave beside its bodies: first the database, and then
  /// those of SQLite, and the mark while it is written.
  private static func leftovers(in path: String) -> [String] {
    ["", "-journal", "-wal", "-shm"].map { part(in: path) + $0 } + [MoveFile.part(in: path)]
  }

  /// Refuses a folder that holds anything but a copy that was cut off.
  ///
  /// - Returns: The names of its entries; nil if there is no such folder.
  @discardableResult
  static func requireFree(_ path: String) throws(StoreError) -> [String]? {
    guard let names = try DataFolder.names(in: path) else { return nil }
    // The mark of a move stays: whoever moves asks about it.
    let rest = Set(names.map { "\(path)/\($0)" })
      .subtracting([path + "/lock", path + "/bodies", MoveFile.path(in: path)])
    let bodies = try DataFolder.names(in: path + "/bodies") ?? []
    // Before that file is made, nothing is copied.
    let isFree =
      rest.isSubset(of: leftovers(in: path)) && (rest.contains(part(in: path)) || bodies.isEmpty)
    if !isFree { try DataFolder.requireEmpty(path) }
    return names
  }

  /// Removes everything that was written, and the folder if it was made for this copy.
  ///
  /// A copy that has its name already stays: it is complete.
  func discard() {
    guard access(database, F_OK) != 0 else { return }
    for name in (try? DataFolder.names(in: bodies)) ?? [] { unlink("\(bodies)/\(name)") }
    rmdir(bodies)
    for file in Self.leftovers(in: path) { unlink(file) }
    unlink(FolderLock.file(in: folder.path))
    if isNew { rmdir(folder.path) }
  }
}

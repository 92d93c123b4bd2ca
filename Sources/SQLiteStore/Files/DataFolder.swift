import EventLoop
import Glibc
import RelayCore
import SQLite

/// The folder of the whole store, owned by one process at a time.
struct DataFolder: ~Copyable {
  /// The folder's path.
  let path: String
  private let lock: FolderLock

  /// The database file.
  var database: String { Self.database(in: path) }
  /// The folder of the bodies that are too large for the database.
  var bodies: String { path + "/bodies" }

  /// The database file of the store in `folder`.
  static func database(in folder: String) -> String { folder + "/waystation.sqlite3" }

  /// Creates the folder if it is missing, and takes its lock.
  ///
  /// - Throws: ``StoreError/Kind/inUse`` with the owner's process number.
  static func claim(_ path: String) throws(StoreError) -> DataFolder {
    try createFolder(path)
    let lock = try FolderLock(path)
    try createFolder(path + "/bodies")
    return DataFolder(path: path, lock: lock)
  }

  private init(path: String, lock: FolderLock) {
    self.path = path
    self.lock = lock
  }

  /// Refuses a folder that is not empty.
  static func requireEmpty(_ folder: String) throws(StoreError) {
    guard try (names(in: folder) ?? []).isEmpty else {
      throw StoreError(
        kind: .other, operation: "write to", subject: folder,
        detail: "it is not empty. Name a folder that is empty or not there yet.")
    }
  }

  /// The names of a folder's entries; nil if there is no such folder.
  static func names(in folder: String) throws(StoreError) -> [String]? {
    guard let directory = opendir(folder) else {
      if errno == ENOENT { return nil }
      throw StoreError(errno: errno, operation: "list", subject: folder)
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(
          to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)
        ) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  private static func createFolder(_ path: String) throws(StoreError) {
    let parent = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    let name = parent.isEmpty ? "/" : parent
    if mkdir(path, 0o700) == 0 { return try sync(folder: name) }
    guard errno == EEXIST else {
      throw StoreError(errno: errno, operation: "create", subject: path)
    }
    // Its maker may have been cut off before the sync; a folder that may not be read was made by
    // others.
    if access(name, R_OK) == 0 { try sync(folder: name) }
  }

  /// Makes a folder's entries durable: without its name a synced file is lost.
  static func sync(folder: String) throws(StoreError) {
    try FileDescriptor.open(folder, O_RDONLY | O_DIRECTORY).sync(folder)
  }

  /// Makes a file's content durable.
  static func sync(file path: String) throws(StoreError) {
    try FileDescriptor.open(path, O_RDONLY).sync(path)
  }

  /// The size of a file in bytes; nil if it does not exist.
  ///
  /// - Throws: ``StoreError/Kind/inputOutput`` if the size cannot be read.
  static func sizeIfThere(ofFile path: String) throws(StoreError) -> Int64? {
    var status = stat()
    if stat(path, &status) == 0 { return Int64(status.st_size) }
    guard errno == ENOENT else { throw StoreError(errno: errno, operation: "find", subject: path) }
    return nil
  }

  /// The size of a file in bytes; 0 if it does not exist, or its size cannot be read.
  static func size(ofFile path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : 0
  }
}

extension FileDescriptor {
  /// Opens a file.
  ///
  /// - Parameter operation: What an error says could not be done.
  static func open(
    _ path: String, _ flags: Int32, to operation: String = "open"
  ) throws(StoreError) -> FileDescriptor {
    let number = Glibc.open(path, flags | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw StoreError(errno: errno, operation: operation, subject: path) }
    return FileDescriptor(adopting: number)
  }

  /// Writes all bytes; an error names `path`.
  ///
  /// A disk that is nearly full takes a part of them without an error (write(2)).
  func write(_ bytes: [UInt8], to path: String) throws(StoreError) {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        Glibc.write(number, $0.baseAddress, $0.count)
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else {
        throw StoreError(errno: errno, operation: "write", subject: path)
      }
      written += count
    }
  }

  /// Makes the content durable; an error names `path`.
  func sync(_ path: String) throws(StoreError) {
    guard fsync(number) == 0 else {
      throw StoreError(errno: errno, operation: "sync", subject: path)
    }
  }
}

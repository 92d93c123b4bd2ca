import EventLoop
import Glibc
import RelayCore
import SQLite

/// The folder of the whole store, owned by one process at a time.
struct DataFolder: ~Copyable {
  /// The folder's path.
  let path: String
  private let lock: FileDescriptor

  /// The database file.
  var database: String { Self.database(in: path) }
  /// The file whose lock owns the folder.
  var lockFile: String { path + "/lock" }
  /// The folder of the bodies that are too large for the database.
  var bodies: String { path + "/bodies" }

  /// The database file of the store in `folder`.
  static func database(in folder: String) -> String { folder + "/waystation.sqlite3" }

  /// Creates the folder if it is missing, and takes its lock.
  ///
  /// - Throws: ``StoreError/Kind/inUse`` with the owner's process number.
  static func claim(_ path: String) throws(StoreError) -> DataFolder {
    try createFolder(path)
    let lock = try takeLock(path + "/lock", folder: path)
    try createFolder(path + "/bodies")
    return DataFolder(path: path, lock: lock)
  }

  private init(path: String, lock: consuming FileDescriptor) {
    self.path = path
    self.lock = lock
  }

  // Closing alone would leave the lock to a child that was forked and has not reached its exec yet;
  // unlocking releases it for all copies of the descriptor (flock(2)).
  deinit { flock(lock.number, LOCK_UN) }

  /// Keeps a relay from starting on a folder that is only read; changes nothing in it.
  ///
  /// - Returns: The lock; nil if the folder has no lock file.
  /// - Throws: ``StoreError/Kind/inUse`` if a relay runs there.
  static func lockForReading(_ folder: String) throws(StoreError) -> ReadingLock? {
    let number = open(folder + "/lock", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else {
      if errno == ENOENT { return nil }
      throw StoreError(errno: errno, operation: "open", subject: folder + "/lock")
    }
    let file = FileDescriptor(adopting: number)
    guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
      throw inUse(folder, by: contents(of: number))
    }
    return ReadingLock(file)
  }

  /// The lock of ``lockForReading(_:)``; released with the last reference.
  final class ReadingLock {
    private let file: FileDescriptor
    init(_ file: consuming FileDescriptor) { self.file = file }
    deinit { flock(file.number, LOCK_UN) }
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

  private static func inUse(_ folder: String, by owner: String) -> StoreError {
    StoreError(
      kind: .inUse, operation: "open", subject: folder,
      detail: "it is in use by process \(owner.isEmpty ? "(unknown)" : owner). Stop that one "
        + "first, or choose another data folder.")
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

  /// Takes the lock, which belongs to the open file (flock(2)).
  ///
  /// So the kernel releases it however the process ends, and a second open of the same folder in
  /// one process is refused as well.
  private static func takeLock(_ path: String, folder: String) throws(StoreError) -> FileDescriptor
  {
    let file = try FileDescriptor.open(path, O_RDWR | O_CREAT)
    let number = file.number
    guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else {
        throw StoreError(errno: errno, operation: "lock", subject: path)
      }
      throw inUse(folder, by: contents(of: number))
    }
    // Only for people: a disk without room for a few bytes must not keep a relay from starting.
    let text = "\(getpid())\n"
    if pwrite(number, text, text.utf8.count, 0) == text.utf8.count {
      ftruncate(number, off_t(text.utf8.count))
    }
    return file
  }

  private static func contents(of number: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: 32)
    let count = pread(number, &buffer, buffer.count, 0)
    return String(decoding: buffer.prefix(max(0, count)).prefix { $0 > 0x20 }, as: UTF8.self)
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

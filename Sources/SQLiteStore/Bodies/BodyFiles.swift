import EventLoop
import Glibc
import RelayCore
import SQLite
import SQLitePages
import Synchronization

/// The folder of bodies that are too large for the database, and the thread that works in it.
final class BodyFiles: Sendable {
  /// Work for the thread.
  let jobs = WorkQueue<@Sendable () -> Void>()
  /// The folder of the files.
  let folder: String
  /// The room that bodies may take on the disk.
  let room: DiskRoom
  /// Called when a body finds no room.
  private let whenFull = Mutex<@Sendable () -> Void>({})

  /// The opened folder, which stays readable if it is moved.
  private let kept: FileDescriptor

  /// Keeps bodies in `folder`, which must exist.
  init(folder: String, room: DiskRoom) throws(StoreError) {
    self.folder = folder
    self.room = room
    kept = try FileDescriptor.open(folder, O_RDONLY | O_DIRECTORY)
  }

  /// A path at which a body can be read.
  ///
  /// It is the body's own place if the body is there. Otherwise it leads through the folder that
  /// was opened at the start, which may have been renamed or mounted over.
  func readablePath(of name: String) -> String {
    let path = "\(folder)/\(name)"
    guard access(path, F_OK) != 0 else { return path }
    let keptPath = "/proc/self/fd/\(kept.number)/\(name)"
    return access(keptPath, F_OK) == 0 ? keptPath : path
  }

  /// Sets the function to call when a body finds no room.
  func onLackOfRoom(_ call: @escaping @Sendable () -> Void) { whenFull.withLock { $0 = call } }

  /// Notes that a body found no room.
  func noteLackOfRoom() { whenFull.withLock { $0 }() }

  /// The name of a file in the database.
  static func name(of file: StoredBodyFile) -> String {
    file.path.lastIndex(of: "/").map { String(file.path[file.path.index(after: $0)...]) }
      ?? file.path
  }

  /// An unused path: 128 random bits.
  func freshPath() -> String {
    var random = SystemRandomNumberGenerator()
    let words = [random.next(), random.next()].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    return "\(folder)/\(words.joined())"
  }

  /// Deletes files that nothing refers to any more.
  ///
  /// Files that a crash leaves are found by ``sweep(database:)`` at the next start.
  func delete(_ names: [String]) {
    guard !names.isEmpty else { return }
    room.uploads.release(names)
    let folder = folder
    _ = jobs.push { for name in names { unlink("\(folder)/\(name)") } }
  }

  /// Deletes files that the database does not refer to.
  ///
  /// They are bodies whose envelopes were never accepted, or whose deletion was cut off by a crash.
  /// Those of open uploads stay. Called before anything is written. A name that the index does not
  /// know is also searched in the table, since an index can be damaged without SQLite noticing:
  /// only a file unknown to both is deleted.
  func sweep(database: String) throws(StoreError) {
    let connection = try Connection(path: database, access: .readOnly)
    let known = try Statement(
      """
      SELECT 1 FROM body_file WHERE name = ?1 UNION ALL \
      SELECT 1 FROM upload WHERE file = ?1 AND envelope IS NULL
      """, on: connection)
    var unknown: Set<String> = []
    for name in try DataFolder.names(in: folder) ?? [] where try !known.hasRow(name) {
      unknown.insert(name)
    }
    guard !unknown.isEmpty else { return }
    let row = try Statement("SELECT name FROM body_file NOT INDEXED", on: connection)
    while try row.step() { unknown.remove(row.text(0) ?? "") }
    let upload = try Statement("SELECT file FROM upload WHERE envelope IS NULL", on: connection)
    while try upload.step() { unknown.remove(upload.text(0) ?? "") }
    for name in unknown { unlink("\(folder)/\(name)") }
  }
}

extension BodyFiles {
  /// Adds bytes to the file of a body, as far as bodies have room; on the thread of the files.
  ///
  /// After an error, the caller lets go of the file, and then calls ``noteLackOfRoom()``: the room
  /// is looked at without it.
  func write(
    _ bytes: [UInt8], to file: borrowing FileDescriptor?, at path: String
  ) throws(StoreError) {
    guard room.bytesLeft >= bytes.count else {
      throw room.lackOfRoom(operation: "write a body to")
    }
    try file?.write(bytes, to: path)
  }

  /// Has the thread of the files do something.
  func perform<Value: Sendable>(
    _ operation: String, _ body: @escaping @Sendable () throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let result: Result<Value, StoreError> = await withUnsafeContinuation { continuation in
      let isQueued = jobs.push { continuation.resume(returning: Result(catching: body)) }
      if !isQueued { continuation.resume(returning: .failure(.closed(operation: operation))) }
    }
    return try result.get()
  }
}

extension BodyFiles {
  /// Gives a body a second name, or copies it to another file system.
  ///
  /// A complete body is never written to, so both stores may share it: each deletes only its own
  /// name.
  static func carryOver(_ old: String, to new: String) throws(StoreError) {
    if link(old, new) == 0 { return }
    guard let from = try ReadOnlyFile.open(old) else {
      throw StoreError(errno: ENOENT, operation: "read", subject: old)
    }
    let to = try FileDescriptor.open(new, O_WRONLY | O_CREAT | O_EXCL, to: "create")
    var place: Int64 = 0
    while place < from.byteCount {
      let piece = from.read(1 << 20, at: place)
      guard !piece.isEmpty else {
        throw StoreError(errno: EIO, operation: "read", subject: old)
      }
      try to.write(piece, to: new)
      place += Int64(piece.count)
    }
    try to.sync(new)
  }
}

extension StoredBodyFile {
  /// The ``Checksum`` of the file as it is now.
  func presentChecksum() throws(StoreError) -> Int64 {
    var sum = Checksum()
    for offset in stride(
      from: 0, to: byteCount, by: Int64.Stride(StoreTuning.bodyBytesCheckedPerStep))
    {
      try bytes(from: offset, countMax: StoreTuning.bodyBytesCheckedPerStep).withUnsafeBytes {
        sum.append($0)
      }
    }
    sum.endField()
    return sum.value
  }

  /// A piece of the file, on a thread that may wait for the disk.
  func bytes(from offset: Int64, countMax: Int) throws(StoreError) -> [UInt8] {
    // A pipe that stands there would hold up this thread for good.
    let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    let count = Int(max(0, min(Int64(countMax), byteCount - offset)))
    var bytes = [UInt8](repeating: 0, count: count)
    var read = 0
    while read < count {
      let more = bytes[read...].withUnsafeMutableBytes {
        pread(file.number, $0.baseAddress, $0.count, off_t(offset) + read)
      }
      if more < 0 && errno == EINTR { continue }
      guard more >= 0 else { throw StoreError(errno: errno, operation: "read", subject: path) }
      guard more > 0 else {
        throw StoreError(
          kind: .corrupt, operation: "read", subject: path,
          detail: "the body ends after \(offset + Int64(read)) bytes of \(byteCount).")
      }
      read += more
    }
    return bytes
  }
}

import EventLoop
import Glibc
import RelayCore
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
    let number = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { throw StoreError(errno: errno, operation: "open", subject: folder) }
    kept = FileDescriptor(adopting: number)
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
    let folder = folder
    _ = jobs.push { for name in names { unlink("\(folder)/\(name)") } }
  }

  /// Deletes files that the database does not refer to.
  ///
  /// They are bodies whose envelopes were never accepted, or whose deletion was cut off by a crash.
  /// Called before anything is written. A name that the index does not know is also searched in the
  /// table, since an index can be damaged without SQLite noticing: only a file unknown to both is
  /// deleted.
  func sweep(database: String) throws(StoreError) {
    let connection = try Connection(path: database, access: .readOnly)
    let known = try Statement("SELECT 1 FROM body_file WHERE name = ?", on: connection)
    var unknown: Set<String> = []
    for name in try fileNames() {
      known.bind(1, name)
      if try known.step() {
        known.reset()
      } else {
        unknown.insert(name)
      }
    }
    guard !unknown.isEmpty else { return }
    let row = try Statement("SELECT name FROM body_file NOT INDEXED", on: connection)
    while try row.step() { unknown.remove(row.text(0) ?? "") }
    for name in unknown { unlink("\(folder)/\(name)") }
  }

  private func fileNames() throws(StoreError) -> [String] {
    guard let directory = opendir(folder) else {
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
}

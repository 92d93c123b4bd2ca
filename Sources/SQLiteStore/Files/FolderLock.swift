import EventLoop
import Glibc
import RelayCore
import SQLite

/// The right to a data folder, which one process has at a time.
///
/// It belongs to the open folder and to an open file in it (flock(2)): the kernel releases it
/// however the process ends, and a second use of the folder in one process is refused as well.
///
/// The folder's lock holds also where somebody has removed the file. The file says who has it, and
/// is the lock of releases before, and where a file system locks no folders, as some networks' do.
final class FolderLock {
  /// What is open, and locked.
  private struct Hold: ~Copyable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    // Closing alone would leave the lock to a child that was forked and has not reached its exec
    // yet; unlocking releases it for all copies of the descriptor (flock(2)).
    deinit { flock(descriptor.number, LOCK_UN) }
  }

  /// None of a folder that is only to be read and is none.
  private let place: Hold?
  /// None in a folder that is only read and has no such file.
  private let file: Hold?

  /// Takes the lock of a folder, and says so in it.
  ///
  /// - Throws: ``StoreError/Kind/inUse`` with the owner's process number.
  init(_ folder: String) throws(StoreError) {
    let path = Self.file(in: folder)
    let place = try Self.place(folder)
    let file = try FileDescriptor.open(path, O_RDWR | O_CREAT)
    try Self.lock(file, path, of: folder)
    // Only for people: a disk without room for a few bytes must not keep a relay from starting.
    let text = "\(getpid())\n"
    if pwrite(file.number, text, text.utf8.count, 0) == text.utf8.count {
      ftruncate(file.number, off_t(text.utf8.count))
    }
    self.place = Hold(place)
    self.file = Hold(file)
  }

  /// Keeps a relay from starting on a folder that is only read; changes nothing in it.
  ///
  /// - Throws: ``StoreError/Kind/inUse`` if a relay runs there.
  init(reading folder: String) throws(StoreError) {
    let path = Self.file(in: folder)
    guard access(folder, F_OK) == 0 else {
      // Whoever reads says it better.
      place = nil
      file = nil
      return
    }
    let place = try Self.place(folder)
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else {
      guard errno == ENOENT else {
        throw StoreError(errno: errno, operation: "open", subject: path)
      }
      self.place = Hold(place)
      file = nil
      return
    }
    let file = FileDescriptor(adopting: number)
    try Self.lock(file, path, of: folder)
    self.place = Hold(place)
    self.file = Hold(file)
  }

  /// The file that says who has the lock of a folder.
  static func file(in folder: String) -> String { folder + "/lock" }

  private static func place(_ folder: String) throws(StoreError) -> FileDescriptor {
    let place = try FileDescriptor.open(folder, O_RDONLY | O_DIRECTORY)
    guard flock(place.number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
      let number = open(file(in: folder), O_RDONLY | O_CLOEXEC)
      guard number >= 0 else { throw inUse(folder, by: "") }
      let owner = FileDescriptor(adopting: number)
      throw inUse(folder, by: contents(of: owner.number))
    }
    return place
  }

  private static func lock(
    _ file: borrowing FileDescriptor, _ path: String, of folder: String
  ) throws(StoreError) {
    guard flock(file.number, LOCK_EX | LOCK_NB) != 0 else { return }
    guard errno == EWOULDBLOCK else {
      throw StoreError(errno: errno, operation: "lock", subject: path)
    }
    throw inUse(folder, by: contents(of: file.number))
  }

  private static func inUse(_ folder: String, by owner: String) -> StoreError {
    StoreError(
      kind: .inUse, operation: "open", subject: folder,
      detail: "it is in use by process \(owner.isEmpty ? "(unknown)" : owner). Stop that one "
        + "first, or choose another data folder.")
  }

  private static func contents(of number: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: 32)
    let count = pread(number, &buffer, buffer.count, 0)
    return String(decoding: buffer.prefix(max(0, count)).prefix { $0 > 0x20 }, as: UTF8.self)
  }
}

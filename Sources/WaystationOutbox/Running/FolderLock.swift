#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import RelayCore
import Synchronization

/// The right to an outbox's folder, which one process has at a time.
///
/// It belongs to the open folder and to an open file in it (flock(2)), so the system takes it back
/// however the process ends.
///
/// The folder's lock holds also where somebody has removed the file. The file says who has it, and
/// is the lock where a file system locks no folders, as some networks' do.
final class FolderLock: Sendable {
  /// What is open; empty once the lock was let go of.
  private let numbers: Mutex<[Int32]>

  /// Takes the lock.
  ///
  /// - Throws: ``OutboxError/owned(pid:)`` if another one has it.
  init(_ folder: String) throws(OutboxError) {
    let path = "\(folder)/lock"
    let place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard place >= 0 else { throw .io(Platform.error("open", folder).description) }
    guard flock(place, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
      close(place)
      throw .owned(pid: Self.owner(path))
    }
    let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard number >= 0 else {
      let error = Platform.error("open", path)
      close(place)
      throw .io(error.description)
    }
    guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
      close(number)
      close(place)
      throw .owned(pid: Self.owner(path))
    }
    ftruncate(number, 0)
    let text = Array("\(getpid())\n".utf8)
    _ = text.withUnsafeBytes { pwrite(number, $0.baseAddress, $0.count, 0) }
    numbers = Mutex([place, number])
  }

  deinit { release() }

  /// Lets go of it; a second call does nothing.
  func release() {
    let open = numbers.withLock { numbers in
      defer { numbers = [] }
      return numbers
    }
    for number in open.reversed() {
      flock(number, LOCK_UN)
      close(number)
    }
  }

  /// Who has it, as far as the file says so.
  private static func owner(_ path: String) -> Int32? {
    let digits = (Platform.head(of: path, byteCount: 16) ?? []).prefix { (48...57).contains($0) }
    return Int32(String(decoding: digits, as: UTF8.self))
  }
}

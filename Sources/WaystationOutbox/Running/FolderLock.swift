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
/// It belongs to the open file (flock(2)), so the system takes it back however the process ends.
final class FolderLock: Sendable {
  /// The open file; nil once the lock was let go of.
  private let number: Mutex<Int32?>

  /// Takes the lock.
  ///
  /// - Throws: ``OutboxError/owned(pid:)`` if another one has it.
  init(_ folder: String) throws(OutboxError) {
    let path = "\(folder)/lock"
    let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard number >= 0 else {
      throw .io(Platform.error("open", path).description)
    }
    guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
      let owner = Self.owner(number)
      close(number)
      throw .owned(pid: owner)
    }
    ftruncate(number, 0)
    let text = Array("\(getpid())\n".utf8)
    _ = text.withUnsafeBytes { pwrite(number, $0.baseAddress, $0.count, 0) }
    self.number = Mutex(number)
  }

  deinit { release() }

  /// Lets go of it; a second call does nothing.
  func release() {
    let open = number.withLock { number in
      defer { number = nil }
      return number
    }
    guard let open else { return }
    flock(open, LOCK_UN)
    close(open)
  }

  private static func owner(_ number: Int32) -> Int32? {
    var buffer = [UInt8](repeating: 0, count: 16)
    let count = buffer.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, 0) }
    let digits = buffer.prefix(max(0, count)).prefix { (48...57).contains($0) }
    return Int32(String(decoding: digits, as: UTF8.self))
  }
}

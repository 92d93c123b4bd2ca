import EventLoop
import Glibc
import RelayCore
import SQLite

/// A file that is only read.
final class ReadOnlyFile: Sendable {
  private let file: FileDescriptor
  /// Its length when it was opened.
  let byteCount: Int64

  private init(_ file: consuming FileDescriptor, byteCount: Int64) {
    self.file = file
    self.byteCount = byteCount
  }

  /// Opens a file; nil if it does not exist.
  static func open(_ path: String) throws(StoreError) -> ReadOnlyFile? {
    let number = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else {
      if errno == ENOENT { return nil }
      throw StoreError(errno: errno, operation: "open", subject: path)
    }
    let file = FileDescriptor(adopting: number)
    var status = stat()
    guard fstat(number, &status) == 0 else {
      throw StoreError(errno: errno, operation: "look at", subject: path)
    }
    return ReadOnlyFile(file, byteCount: Int64(status.st_size))
  }

  /// The bytes at an offset; fewer beyond the end, and none if the disk cannot read them.
  func read(_ count: Int, at place: Int64) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = 0
      while filled < count, let start = buffer.baseAddress {
        let got = pread(file.number, start + filled, count - filled, off_t(place) + filled)
        if got < 0 && errno == EINTR { continue }
        guard got > 0 else { return }
        filled += got
      }
    }
  }

  /// Announces that bytes will be read soon, so that the kernel fetches them meanwhile
  /// (posix_fadvise(2)).
  func announce(_ count: Int, at place: Int64) {
    posix_fadvise(file.number, off_t(place), off_t(count), POSIX_FADV_WILLNEED)
  }
}

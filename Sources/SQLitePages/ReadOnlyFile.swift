#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
import RelayCore
import SQLite
import Synchronization

/// A file that is only read.
package final class ReadOnlyFile: Sendable {
  /// The kernel's number of it.
  package let number: Int32
  /// Its length when it was opened.
  package let byteCount: Int64
  private let path: String
  /// The error of the last read that failed; 0 for none.
  private let failure = Atomic<Int32>(0)

  private init(_ number: Int32, _ path: String, byteCount: Int64) {
    self.number = number
    self.path = path
    self.byteCount = byteCount
  }

  deinit { close(number) }

  /// Opens a file; nil if it does not exist.
  package static func open(_ path: String) throws(StoreError) -> ReadOnlyFile? {
    let number = system_open(path)
    guard number >= 0 else {
      if errno == ENOENT { return nil }
      throw StoreError(errno: errno, operation: "open", subject: path)
    }
    var status = stat()
    guard fstat(number, &status) == 0 else {
      let error = StoreError(errno: errno, operation: "look at", subject: path)
      close(number)
      throw error
    }
    return ReadOnlyFile(number, path, byteCount: Int64(status.st_size))
  }

  /// The bytes at an offset; fewer beyond the end, and none if the disk cannot read them.
  package func read(_ count: Int, at place: Int64) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = 0
      while filled < count, let start = buffer.baseAddress {
        let got = pread(number, start + filled, count - filled, off_t(place) + off_t(filled))
        if got < 0 && errno == EINTR { continue }
        if got < 0 { failure.store(errno, ordering: .relaxed) }
        guard got > 0 else { return }
        filled += got
      }
    }
  }

  /// Tells the disk's refusal of a read apart from damage, for those to whom that matters.
  ///
  /// - Throws: ``StoreError/Kind/inputOutput`` if a read so far has failed.
  package func requireReads() throws(StoreError) {
    let number = failure.load(ordering: .relaxed)
    guard number != 0 else { return }
    throw StoreError(errno: number, operation: "read", subject: path)
  }
}

// The call's name is that of a function above.
private func system_open(_ path: String) -> Int32 { open(path, O_RDONLY | O_CLOEXEC) }

import EventLoop
import Glibc
import RelayCore

extension SQLiteStore {
  /// What ``EnvelopeStore`` says of `bodyBytes`.
  package func bodyBytes(
    of file: StoredBodyFile, from offset: Int64, countMax: Int
  ) async throws(StoreError) -> [UInt8] {
    try await read { _ throws(StoreError) in
      try file.bytes(from: offset, countMax: countMax)
    }
  }
}

extension StoredBodyFile {
  /// A piece of the file, on a thread that may wait for the disk.
  fileprivate func bytes(from offset: Int64, countMax: Int) throws(StoreError) -> [UInt8] {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw StoreError(errno: errno, operation: "open", subject: path) }
    let file = FileDescriptor(adopting: number)
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

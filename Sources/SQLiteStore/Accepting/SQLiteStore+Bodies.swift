import EventLoop
import Glibc
import RelayCore

extension SQLiteStore {
  /// See ``EnvelopeStore``.
  package func bodyBytes(
    of file: StoredBodyFile, from offset: Int64, countMax: Int
  ) async throws(StoreError) -> [UInt8] {
    try await read { _ throws(StoreError) in
      try file.bytes(from: offset, countMax: countMax)
    }
  }

  /// See ``EnvelopeStore``.
  ///
  /// In pieces, so that others have their turns in between.
  package func checkBody(in file: StoredBodyFile) async throws(StoreError) {
    guard let checksum = file.checksum else { return }
    var sum = Checksum()
    var offset: Int64 = 0
    while offset < file.byteCount {
      let from = offset
      let piece = try await bodyBytes(
        of: file, from: from, countMax: StoreTuning.bodyBytesCheckedPerStep)
      piece.withUnsafeBytes { sum.append($0) }
      offset += Int64(piece.count)
    }
    sum.endField()
    guard sum.value == checksum else {
      throw .changed("the body in \(file.path)")
    }
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

#if PostgreSQL
import EventLoop
import RelayCore

extension PostgresStore {
  /// See ``EnvelopeStore``.
  package func beginBody() async throws(StoreError) -> any BodyWriter {
    try await PostgresBodyWriter.begin(on: shared.bodies)
  }

  /// See ``EnvelopeStore``.
  package func bodyBytes(
    of file: StoredBodyFile, from offset: Int64, countMax: Int
  ) async throws(StoreError) -> [UInt8] {
    try await read(isOfTold: true) { reader throws(StoreError) in
      try reader.bytes(of: file, from: offset, countMax: countMax)
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
      let piece = try await bodyBytes(of: file, from: offset, countMax: StoredBodyFile.chunkBytes)
      piece.withUnsafeBytes { sum.append($0) }
      offset += Int64(piece.count)
    }
    sum.endField()
    guard sum.value == checksum else {
      throw StoreError(
        kind: .corrupt, operation: "check", subject: "the body \(file.path)",
        detail: "its bytes are others than those that were written.")
    }
  }
}
#endif

import RelayCore

extension EnvelopeStore {
  /// Writes a body.
  func write(_ parts: [[UInt8]]) async throws(StoreError) -> StoredBodyFile {
    let writer = try await beginBody()
    for part in parts { try await writer.append(part) }
    return try await writer.finish()
  }

  /// Waits until the few bodies are deleted that nobody refers to any more: the next one begins
  /// behind that.
  func waitUntilSwept() async { (try? await beginBody())?.discard() }

  /// Reads a body from its beginning to its end, by pieces of odd lengths.
  func bytes(of file: StoredBodyFile) async throws(StoreError) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let piece = try await bodyBytes(of: file, from: Int64(bytes.count), countMax: 99_999)
      guard !piece.isEmpty else { return bytes }
      bytes += piece
    }
  }
}

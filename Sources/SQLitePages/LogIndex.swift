/// The index of a write-ahead log, by which a process knew it
/// (<https://www.sqlite.org/walformat.html>).
///
/// It is never synced: after a power cut it may be gone, or old.
struct LogIndex {
  private static let headerBytes = 48
  /// The header stands there twice, and behind it how much of the log was copied.
  private static let readBytes = 2 * headerBytes + MemoryLayout<UInt32>.size

  /// The round of the log that it is of.
  let round: LogRound
  /// The number of frames that it knows of, up to the last commit.
  ///
  /// It learns of a commit once its frames are written, and before they are synced.
  let frameCount: Int
  /// The number of frames, from the first one, that are in the database as well, and synced there.
  let copiedCount: Int

  /// Reads it; nil if there is none, or it was being written when its process ended.
  init?(_ file: ReadOnlyFile?) {
    // Both headers are the same but while they are written.
    guard let bytes = file?.read(Self.readBytes, at: 0),
      bytes.count == Self.readBytes, bytes[12] == 1,
      bytes[..<Self.headerBytes] == bytes[Self.headerBytes..<2 * Self.headerBytes]
    else { return nil }
    // In this machine's byte order.
    func number(at place: Int) -> Int {
      Int(bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: UInt32.self) })
    }
    round = LogRound(bytes, at: 32)
    frameCount = number(at: 16)
    copiedCount = min(number(at: 2 * Self.headerBytes), frameCount)
  }
}

/// The index of a write-ahead log, by which a process knew it
/// (<https://www.sqlite.org/walformat.html>).
///
/// It is never synced: after a power cut it may be gone, or old.
struct LogIndex {
  private static let headerBytes = 48

  private let round: LogRound
  private let frameCount: Int

  /// Reads it; nil if there is none, or it was being written when its process ended.
  init?(_ file: ReadOnlyFile?) {
    // The header stands there twice, and is the same in both places but while it is written.
    guard let bytes = file?.read(2 * Self.headerBytes, at: 0),
      bytes.count == 2 * Self.headerBytes, bytes[12] == 1,
      bytes[..<Self.headerBytes] == bytes[Self.headerBytes...]
    else { return nil }
    round = LogRound(bytes, at: 32)
    // In this machine's byte order.
    frameCount = Int(
      bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 16, as: UInt32.self) })
  }

  /// The number of frames that it knows of; nil if it is that of another round.
  ///
  /// It learns of a commit before that is synced.
  func frames(of round: LogRound) -> Int? { round == self.round ? frameCount : nil }
}

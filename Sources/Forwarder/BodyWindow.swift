import RelayCore

/// The part of a request's body that is in memory while it is sent, of a body that a store
/// elsewhere hands out in pieces: which piece to ask for next, and what can be sent already.
///
/// One piece is on its way at a time, and at most ``piecesMax`` are here and not sent. So the next
/// one comes while the last one is sent, and the body's length does not matter for the memory.
package struct BodyWindow {
  /// The most bytes of a piece: what a store on PostgreSQL keeps in one row.
  package static let pieceBytes: Int64 = 256 << 10
  /// The most pieces that are here.
  package static let piecesMax = 2

  /// The length of the body in bytes.
  package let byteCount: Int64
  private var pieces = Deque<[UInt8]>()
  /// How many bytes of the first piece were handed out.
  private var sentOfFirst = 0
  /// The offset behind the pieces.
  private var end: Int64 = 0
  /// The piece on its way, which may be one that is not wanted any more.
  private var asked: Range<Int64>?

  /// Begins at the start of a body.
  package init(byteCount: Int64) { self.byteCount = byteCount }

  /// The offset of what is handed out next.
  private var next: Int64 = 0

  /// The part to ask for now; nil if one is on its way, or none is needed.
  ///
  /// It counts as on its way from then on, until ``take(_:at:)``.
  package mutating func ask() -> Range<Int64>? {
    guard asked == nil, pieces.count < Self.piecesMax, end < byteCount else { return nil }
    let part = end..<min(byteCount, end + Self.pieceBytes)
    asked = part
    return part
  }

  /// Takes the part that was asked for; false if it has another length.
  package mutating func take(_ bytes: [UInt8]) -> Bool {
    guard let part = asked, bytes.count == part.count else { return false }
    asked = nil
    // Another one is wanted since ``seek(to:)``.
    guard part.lowerBound == end else { return true }
    pieces.append(bytes)
    end = part.upperBound
    return true
  }

  /// Hands out what comes next, as far as it is here: 0 bytes if nothing is, or at the end.
  package mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let first = pieces.first else { return 0 }
    let count = min(buffer.count, first.count - sentOfFirst)
    first.withUnsafeBytes {
      buffer.copyMemory(
        from: UnsafeRawBufferPointer(rebasing: $0[sentOfFirst..<sentOfFirst + count]))
    }
    sentOfFirst += count
    next += Int64(count)
    if sentOfFirst == first.count {
      _ = pieces.popFirst()
      sentOfFirst = 0
    }
    return count
  }

  /// Whether everything was handed out.
  package var isDone: Bool { next == byteCount }

  /// Goes on at an offset, since the body has to be sent again; false if it has none such.
  package mutating func seek(to offset: Int64) -> Bool {
    guard offset >= 0, offset <= byteCount else { return false }
    if offset == next { return true }
    pieces = Deque()
    sentOfFirst = 0
    (next, end) = (offset, offset)
    return true
  }
}

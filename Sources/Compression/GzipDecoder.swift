import CZlib

/// Decodes a gzip body (RFC 1952), whole or piece by piece, up to a limit.
///
/// A body may consist of several members, whose contents follow one another (RFC 1952 section 2.2).
/// A body that would decode to more than the limit is refused as soon as the limit is passed, so a
/// small body that decodes to a huge one costs no more memory than the limit allows.
///
/// One decoder serves one body. After an error it must be dropped.
package struct GzipDecoder: ~Copyable {
  /// The number of decoded bytes that room is made for at a time.
  package static let outputChunkBytes = 64 * 1024

  /// zlib's state.
  ///
  /// It is on the heap at one address, since zlib keeps a pointer back to it and refuses a stream
  /// that has moved.
  private let stream: UnsafeMutablePointer<z_stream>
  private let decodedBytesMax: Int
  private var decodedBytes = 0
  private var progress = Progress.beforeFirstMember

  /// The decoder's position in the body.
  private enum Progress: Equatable {
    case beforeFirstMember
    case insideMember
    case afterMember
    /// The first byte of a later member's magic number was the last of a piece.
    case laterMagicBegun
  }

  /// Makes a decoder that refuses a body of more than `decodedBytesMax` decoded bytes.
  ///
  /// - Throws: ``GzipError/outOfMemory``.
  package init(decodedBytesMax: Int) throws(GzipError) {
    precondition(decodedBytesMax >= 0)
    self.decodedBytesMax = decodedBytesMax
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // "Add 16 to decode only the gzip format" (zlib.h on inflateInit2).
    let status = inflateInit2_(
      stream, MAX_WBITS + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else {
      stream.deallocate()
      throw .outOfMemory
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Decodes a whole body at once.
  package static func decode(
    _ body: some Collection<UInt8>, decodedBytesMax: Int
  ) throws(GzipError) -> [UInt8] {
    var decoder = try GzipDecoder(decodedBytesMax: decodedBytesMax)
    var decoded: [UInt8] = []
    try decoder.decode(body, into: &decoded)
    try decoder.finish()
    return decoded
  }

  /// Decodes the next piece of the body, and appends the result to `decoded`.
  ///
  /// - Throws: ``GzipError``; what was decoded before, up to the limit, is left in `decoded`.
  package mutating func decode(
    _ piece: some Collection<UInt8>, into decoded: inout [UInt8]
  ) throws(GzipError) {
    let error = piece.withContiguousStorageIfAvailable { decode($0, appendingTo: &decoded) }
    // Arrays and their slices have such storage; anything else is copied into one first.
    guard let error else { return try decode(Array(piece), into: &decoded) }
    if let error { throw error }
  }

  /// Ends the body.
  ///
  /// - Throws: ``GzipError/truncated`` if its gzip has not ended; ``GzipError/trailingGarbage`` if
  ///   it ends in half of a further member's magic number.
  package consuming func finish() throws(GzipError) {
    switch progress {
    case .afterMember: return
    case .laterMagicBegun: throw .trailingGarbage
    case .beforeFirstMember, .insideMember: throw .truncated
    }
  }

  /// Decodes one piece; `input` is borrowed from the caller for this call, and zlib's pointer into
  /// it is cleared before the call ends.
  private mutating func decode(
    _ input: UnsafeBufferPointer<UInt8>, appendingTo decoded: inout [UInt8]
  ) -> GzipError? {
    // zlib counts in 32 bits; the largest body is far smaller.
    precondition(input.count <= Int(UInt32.max))
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
    stream.pointee.avail_in = UInt32(input.count)
    defer {
      stream.pointee.next_in = nil
      stream.pointee.avail_in = 0
    }
    var outputIsFull = false
    while stream.pointee.avail_in > 0 || outputIsFull {
      if let error = enterMember() { return error }
      if let error = inflateSome(into: &decoded) { return error }
      // zlib may hold back output that had no room, though it has taken all of the input.
      outputIsFull = progress == .insideMember && stream.pointee.avail_out == 0
      stream.pointee.avail_out = 0
    }
    return nil
  }

  /// Outside a member, checks that a member follows, and prepares for it.
  ///
  /// zlib would report a later bad magic number as corrupt data. The sender is better helped by the
  /// message that the gzip itself was sound and something follows it.
  private mutating func enterMember() -> GzipError? {
    switch progress {
    case .insideMember: return nil
    case .beforeFirstMember: break
    case .afterMember:
      guard stream.pointee.next_in?.pointee == 0x1F else { return .trailingGarbage }
      inflateReset(stream)
      if stream.pointee.avail_in == 1 {
        progress = .laterMagicBegun
        // zlib still has to be fed the byte.
        return nil
      }
      guard stream.pointee.next_in?[1] == 0x8B else { return .trailingGarbage }
    case .laterMagicBegun:
      guard stream.pointee.next_in?.pointee == 0x8B else { return .trailingGarbage }
    }
    progress = .insideMember
    return nil
  }

  /// Inflates until a chunk of output is full, the input is used up, or the member has ended.
  private mutating func inflateSome(into decoded: inout [UInt8]) -> GzipError? {
    // One byte beyond the limit tells a body that just fits from one that does not.
    let room = min(Self.outputChunkBytes, decodedBytesMax - decodedBytes + 1)
    var status = Z_OK
    // zlib's pointer into the chunk is cleared before the chunk is given back.
    let fits = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room) { chunk in
      stream.pointee.next_out = chunk.baseAddress
      stream.pointee.avail_out = UInt32(room)
      status = inflate(stream, Z_NO_FLUSH)
      stream.pointee.next_out = nil
      let written = room - Int(stream.pointee.avail_out)
      let kept = min(written, decodedBytesMax - decodedBytes)
      decoded.append(contentsOf: UnsafeBufferPointer(rebasing: chunk[..<kept]))
      decodedBytes += kept
      return kept == written
    }
    guard fits else { return .tooLarge(decodedBytesMax: decodedBytesMax) }
    switch status {
    case Z_STREAM_END: progress = .afterMember
    // Z_BUF_ERROR: "no progress was possible", that is, more input is needed; no error.
    case Z_OK, Z_BUF_ERROR: break
    case Z_MEM_ERROR: return .outOfMemory
    case Z_NEED_DICT: return .corrupt("it asks for a preset dictionary")
    default: return .corrupt(stream.pointee.msg.map { String(cString: $0) } ?? "damaged data")
    }
    return nil
  }
}

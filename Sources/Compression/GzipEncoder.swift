import CZlib

/// Encodes bodies as gzip (RFC 1952).
package enum GzipEncoder {
  /// zlib's quickest level: of what devices send it takes off nearly as much as the thorough ones,
  /// at a fraction of their cost.
  private static let level: Int32 = 1
  /// "The default value is 8" (zlib.h on deflateInit2).
  private static let memoryLevel: Int32 = 8

  /// A whole body as one member, without a name or a time: the same bytes for the same body.
  ///
  /// - Parameter body: At most 2^32 - 1 bytes.
  /// - Throws: ``GzipError/outOfMemory``.
  package static func encode(_ body: [UInt8]) throws(GzipError) -> [UInt8] {
    precondition(body.count <= Int(UInt32.max))
    // On the heap at one address, since zlib keeps a pointer back to it.
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    // "Add 16 to windowBits to write a simple gzip header" (zlib.h on deflateInit2).
    let status = deflateInit2_(
      stream, level, Z_DEFLATED, MAX_WBITS + 16, memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw .outOfMemory }
    defer { deflateEnd(stream) }
    return encode(body, with: stream)
  }

  /// zlib's pointers into `body` and into the result are cleared before these are given back.
  private static func encode(
    _ body: [UInt8], with stream: UnsafeMutablePointer<z_stream>
  ) -> [UInt8] {
    // Enough for any body, so that one call does it.
    let room = Int(deflateBound(stream, UInt(body.count)))
    return [UInt8](unsafeUninitializedCapacity: room) { output, count in
      body.withUnsafeBufferPointer { input in
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(room)
        let status = deflate(stream, Z_FINISH)
        precondition(status == Z_STREAM_END, "deflateBound's room is enough")
        count = room - Int(stream.pointee.avail_out)
        stream.pointee.next_in = nil
        stream.pointee.next_out = nil
      }
    }
  }
}

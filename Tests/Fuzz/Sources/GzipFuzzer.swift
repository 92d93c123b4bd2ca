import Compression

/// Gzip: however it is cut, it unpacks alike, and to no more than its limit.
enum GzipFuzzer {
  private static let bytesMax = 4096

  private struct Unpacked: Equatable {
    var bytes: [UInt8] = []
    var error: String?
  }

  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let text = input.rest
    let atOnce = unpack(text, [text.count])
    let inPieces = unpack(text, input.cuts(of: text.count))
    // What was unpacked before an error depends on the cut; that there is one, and which, does not.
    expectSame(inPieces.error, atOnce.error, "what unpacking in pieces came to")
    if atOnce.error == nil {
      expectSame(inPieces.bytes, atOnce.bytes, "what was unpacked in pieces")
    }
    expectHolds(atOnce.bytes.count <= bytesMax, "no more is unpacked than the limit")
  }

  private static func unpack(_ text: [UInt8], _ lengths: [Int]) -> Unpacked {
    var unpacked = Unpacked()
    do throws(GzipError) {
      var decoder = try GzipDecoder(decodedBytesMax: bytesMax)
      var start = 0
      for length in lengths {
        try decoder.decode(text[start..<start + length], into: &unpacked.bytes)
        start += length
      }
      try decoder.finish()
    } catch {
      unpacked.error = "\(error)"
    }
    return unpacked
  }
}

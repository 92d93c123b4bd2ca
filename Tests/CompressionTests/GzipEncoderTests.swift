import Testing

@testable import Compression

@Suite("Encoding gzip")
struct GzipEncoderTests {
  @Test("what is encoded is decoded to the same, whatever it is", arguments: [0, 1, 70_000])
  func roundTrip(count: Int) throws {
    var state: UInt64 = 7
    let random = (0..<count).map { _ -> UInt8 in
      state = state &* 6_364_136_223_846_793_005 &+ 1
      return UInt8(truncatingIfNeeded: state >> 56)
    }
    let repeating = (0..<count).map { UInt8(truncatingIfNeeded: $0 % 17) }
    for body in [random, repeating] {
      let encoded = try GzipEncoder.encode(body)
      #expect(try GzipDecoder.decode(encoded, decodedBytesMax: count) == body)
      #expect(try GzipEncoder.encode(body) == encoded, "the same bytes each time")
    }
  }

  @Test("what repeats itself becomes a fraction")
  func fraction() throws {
    let lines = (0..<500).flatMap { Array(#"{"sensor": "inside", "celsius": \#($0)}"#.utf8) }
    #expect(try GzipEncoder.encode(lines).count < lines.count / 4)
  }
}

import RelayCore
import Testing

/// Sums of what is stored.
@Suite("checksums")
struct ChecksumTests {
  private func sum(_ bytes: [UInt8], in pieces: [Int] = []) -> Int64 {
    var sum = Checksum()
    var rest = bytes[...]
    for count in pieces {
      Array(rest.prefix(count)).withUnsafeBytes { sum.append($0) }
      rest = rest.dropFirst(count)
    }
    Array(rest).withUnsafeBytes { sum.append($0) }
    sum.endField()
    return sum.value
  }

  @Test("any bit that flips, and any byte that is missing, is seen")
  func flips() {
    let bytes = (0..<75).map { UInt8(truncatingIfNeeded: $0 &* 37) }
    let whole = sum(bytes)
    for place in bytes.indices {
      for bit in 0..<8 {
        var flipped = bytes
        flipped[place] ^= 1 << UInt8(bit)
        #expect(sum(flipped) != whole, "\(place), \(bit)")
      }
      var shorter = bytes
      shorter.remove(at: place)
      #expect(sum(shorter) != whole)
    }
    #expect(sum([0]) != sum([]) && sum([0]) != sum([0, 0]))
  }

  @Test("in which pieces bytes come makes no difference")
  func pieces() {
    let bytes = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* 73) }
    let whole = sum(bytes)
    for first in 0...24 {
      for second in [0, 1, 7, 8, 9, 33] { #expect(sum(bytes, in: [first, second]) == whole) }
    }
    #expect(sum(bytes, in: [Int](repeating: 1, count: 100)) == whole)
  }

  private func content(
    method: String = "POST", target: String = "/a", header: String = "x", body: String = "hello"
  ) -> EnvelopeContent {
    var headers = HeaderBlock()
    headers.append(name: "A", value: header)
    return EnvelopeContent(
      method: method, target: Array(target.utf8), headers: headers,
      body: .inline(Array(body.utf8)))
  }

  private func sum(
    _ content: EnvelopeContent, client: Int64 = 1, lane: Int64 = 2, upstream: Int32 = 3,
    key: String? = nil, references: Bool = false, serial: Int64 = 9
  ) -> Int64 {
    content.checksum(
      of: EnvelopeID(
        serial: serial, acceptedAt: WallTime(millisecondsSinceEpoch: 1_800_000_000_000), random: 5),
      client: ClientNumber(rawValue: client), lane: LaneNumber(rawValue: lane),
      upstream: UpstreamNumber(rawValue: upstream), key: key, references: references)
  }

  @Test("everything that decides what reaches which upstream counts")
  func parts() {
    let all = [
      sum(content()), sum(content(method: "PUT")), sum(content(target: "/b")),
      sum(content(header: "y")), sum(content(body: "hellp")),
      // Nothing moves from one part into the next.
      sum(content(method: "POS", target: "T/a")), sum(content(), client: 2),
      sum(content(), lane: 1), sum(content(), upstream: 4), sum(content(), key: ""),
      sum(content(), key: "k"), sum(content(), references: true), sum(content(), serial: 10),
    ]
    #expect(Set(all).count == all.count)
  }

  @Test("a sum that was stored once is the same for good")
  func pinned() {
    #expect(sum(Array("waystation".utf8)) == 1_350_943_619_437_752_800)
  }
}

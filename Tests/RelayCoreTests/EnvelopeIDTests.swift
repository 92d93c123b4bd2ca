import RelayCore
import Testing

@Suite("Envelope ids")
struct EnvelopeIDTests {
  private let time = WallTime(millisecondsSinceEpoch: 0x018B_CFE5_6800)

  @Test("time, version, variant, serial and random bits stand where RFC 9562 has them")
  func layout() {
    let id = EnvelopeID(serial: 0xAB_CDEF_0123, acceptedAt: time, random: 0x3F_FFFF << 12 | 0x5A5)
    #expect(id.high == 0x018B_CFE5_6800_75A5)
    #expect(id.low == 0xAAF3_7BC0_48FF_FFFF)
    #expect(id.description == "018bcfe5-6800-75a5-aaf3-7bc048ffffff")
    #expect(id.description(behind: "/v1/") == "/v1/018bcfe5-6800-75a5-aaf3-7bc048ffffff")
    #expect(id.acceptedAt == time)
  }

  @Test("an id survives printing and reading, in either case")
  func roundTrip() {
    var random = SplitMix64(seed: 5)
    for _ in 0..<2000 {
      let serial = Int64.random(in: 1...EnvelopeID.serialMax, using: &random)
      let id = EnvelopeID(serial: serial, acceptedAt: time, random: random.next())
      #expect(EnvelopeID(parsing: id.description) == id)
      #expect(EnvelopeID(parsing: id.description.uppercased()) == id)
      #expect(EnvelopeID(high: id.high, low: id.low) == id)
    }
  }

  @Test("ids differ by serial alone, and within one moment their last halves grow with it")
  func orderWithinAMoment() {
    let ids = (1...1000).map { EnvelopeID(serial: $0, acceptedAt: time, random: 0) }
    #expect(Set(ids).count == 1000)
    #expect(zip(ids, ids.dropFirst()).allSatisfy { $0.low < $1.low })
  }

  @Test("the largest serial and a time before 1970 are held")
  func extremes() {
    let id = EnvelopeID(
      serial: EnvelopeID.serialMax, acceptedAt: WallTime(millisecondsSinceEpoch: -1),
      random: .max)
    #expect(id.acceptedAt.millisecondsSinceEpoch == 0)
    #expect(id.low == 0xBFFF_FFFF_FFFF_FFFF)
    #expect(EnvelopeID(parsing: id.description) == id)
  }

  @Test(
    "anything that the relay cannot have given out is refused",
    arguments: [
      "", "018bcfe5", "018bcfe5-6800-75a5-aaf3-7bc048ffff", "018bcfe5-6800-75a5-aaf3-7bc048ffffff0",
      "018bcfe5-6800-75a5-aaf3-7bc048ffffff-", "018bcfe5680075a5aaf37bc048ffffff0000",
      "018bcfe5-6800-45a5-aaf3-7bc048ffffff", "018bcfe5-6800-75a5-6af3-7bc048ffffff",
      "018bcfe5-6800-75a5-eaf3-7bc048ffffff", "g18bcfe5-6800-75a5-aaf3-7bc048ffffff",
      "{018bcfe5-6800-75a5-aaf3-7bc048fffff", " 018bcfe5-6800-75a5-aaf3-7bc048fffff",
      "018bcfe5-6800-75a5-aaf3_7bc048ffffff", "018bcfe5-6800-75a5-aaf3-7bc048fffffé",
    ])
  func refusals(text: String) {
    #expect(EnvelopeID(parsing: text) == nil)
  }
}

@Suite("Shards")
struct ShardTests {
  /// Where a store keeps what belongs to a shard, these may never change.
  @Test(
    "a client's shard is FNV-1a of its name, for good",
    arguments: [("", 805), ("a", 140), ("foobar", 1000), ("device-1", 49), ("ü", 1002)])
  func fixed(client: String, shard: Int) {
    #expect(Shard.of(client: client) == shard)
  }

  @Test("clients spread over all shards")
  func spread() {
    var counts = Array(repeating: 0, count: Shard.count)
    for number in 0..<102_400 { counts[Shard.of(client: "client-\(number)")] += 1 }
    #expect(counts.allSatisfy { (60...140).contains($0) })
  }
}

import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

/// What came of a lane, and what an upstream finds that trusts the device alone.
@Suite("The audit of what a device has signed")
struct DeviceAuditTests {
  private static func hash(_ bytes: [UInt8]) -> [UInt8] { TestReceiptVerifier().digest(bytes) }
  private static func digest(_ number: UInt64) -> [UInt8] { hash([UInt8(number)]) }

  private struct Came {
    var number: UInt64
    var digest: [UInt8]
    var signed: DeviceAudit.Signed
  }

  /// A lane as it was sent: the numbers, of which some are void.
  private static func lane(
    _ numbers: [UInt64], voids: [UInt64: [ClosedRange<UInt64>]] = [:], anew: Set<UInt64> = []
  ) -> [Came] {
    var former: ItemStatement.Former?
    return numbers.map { number in
      let statement = ItemStatement(
        client: "c", lane: "l", sequence: number, digest: digest(number), former: former,
        voids: voids[number] ?? [], isAnew: anew.contains(number))
      let hash = hash(statement.payload)
      former = ItemStatement.Former(sequence: number, hash: hash)
      return Came(
        number: number, digest: digest(number), signed: .device(statement, hash: hash))
    }
  }

  private static func verdict(
    _ came: [Came], from: UInt64 = 1, excused: Set<UInt64> = []
  ) -> Result<DeviceAudit.Counts, DeviceAudit.Fault> {
    var audit = DeviceAudit()
    for one in came { audit.add(one.number, digests: [one.digest], one.signed) }
    return audit.verdict(from: from) { excused.contains($0) }
  }

  private static func fault(_ came: [Came]) -> DeviceAudit.Fault? {
    if case .failure(let fault) = verdict(came) { fault } else { nil }
  }

  @Test("holds for all that came as it was signed, with what was given up and repeated")
  func holds() throws {
    #expect(try Self.verdict(Self.lane([1, 2, 3])).get().signed == 3)
    #expect(try Self.verdict(Self.lane([1, 4], voids: [4: [2...3]])).get().last == 4)
    #expect(try Self.verdict(Self.lane([1, 9], anew: [9])).get().anew == 1)
    let lane = Self.lane([1, 2, 3])
    #expect(try Self.verdict(lane + lane).get().signed == 3)
    #expect(try Self.verdict([]).get().signed == 0)
    #expect(try Self.verdict(Array(lane.dropFirst()), from: 2).get().first == 2)
  }

  @Test("one that begins anew names the last that was signed: that has to have come")
  func leftOutBeforeAnew() throws {
    let lane = Self.lane([1, 2, 3, 7, 8], anew: [7])
    #expect(try Self.verdict(lane).get().anew == 1)
    #expect(Self.fault([lane[0], lane[1], lane[3]]) == DeviceAudit.Fault(3, .missing))
    #expect(Self.fault([lane[0], lane[3], lane[4]]) == DeviceAudit.Fault(2, .missing))
    #expect(Self.fault([lane[3], lane[4]]) == DeviceAudit.Fault(3, .missing))
    #expect(try Self.verdict([lane[3], lane[4]], from: 7).get().signed == 2)
  }

  @Test("a number that nobody has signed is named itself, and changes no order")
  func forgedNumber() throws {
    let forged = Came(number: 1000, digest: Self.digest(1), signed: .nobody)
    let lane = Self.lane([1, 2, 3])
    #expect(Self.fault([forged] + lane) == DeviceAudit.Fault(1000, .badSignature))
    #expect(Self.fault([lane[0], forged, lane[1]]) == DeviceAudit.Fault(1000, .badSignature))
  }

  @Test("what is left out is named, unless the device gives it up later, or somebody excuses it")
  func leftOut() throws {
    var lane = Self.lane([1, 2, 3, 4])
    lane.remove(at: 1)
    #expect(Self.fault(lane) == .init(2, .missing))
    #expect(try Self.verdict(lane, excused: [2]).get().signed == 3)
    var told = Self.lane([1, 2, 3, 4], voids: [4: [2...2]])
    told.remove(at: 1)
    #expect(try Self.verdict(told).get().signed == 3)
    #expect(Self.fault(Array(Self.lane([1, 2, 3]).dropFirst())) == .init(1, .missing))
  }

  @Test("a tail that is held back is not found, and the one before it holds")
  func tail() throws {
    #expect(try Self.verdict(Array(Self.lane([1, 2, 3]).dropLast())).get().last == 2)
  }

  @Test("a number that nobody has signed for is missing although the next one follows")
  func neverSigned() {
    #expect(Self.fault(Self.lane([1, 3])) == .init(2, .missing))
  }

  @Test("what was changed, stripped, forged or exchanged is named")
  func changed() {
    var lane = Self.lane([1, 2, 3])
    lane[1].digest = Self.digest(9)
    #expect(Self.fault(lane) == .init(2, .changed))
    lane[1].signed = .nothing
    #expect(Self.fault(lane) == .init(2, .unsigned))
    lane[1].signed = .nobody
    #expect(Self.fault(lane) == .init(2, .badSignature))
    #expect(Self.fault([Came(number: 1, digest: [], signed: .nothing)]) == .init(1, .unsigned))
  }

  @Test("what came before the lane was signed is counted, and nothing unsigned may come after it")
  func before() throws {
    let plain = Came(number: 1, digest: [], signed: .nothing)
    #expect(try Self.verdict([plain] + Self.lane([2, 3])).get().before == 1)
    // A relay may take the first signatures away.
    var stripped = Self.lane([1, 2])
    stripped[0].signed = .nothing
    #expect(Self.fault(stripped) == .init(1, .unsigned))
    var lane = Self.lane([1, 2])
    lane.append(Came(number: 3, digest: [], signed: .nothing))
    #expect(Self.fault(lane) == .init(3, .unsigned))
  }

  @Test("what came in another order is named, with the number that it came behind")
  func order() {
    let lane = Self.lane([1, 2, 3])
    #expect(
      Self.fault([lane[0], lane[2], lane[1]]) == .init(2, .anotherOrder, behind: 3))
  }

  @Test("two statements under one number, and one that follows on something else, are named")
  func histories() {
    let lane = Self.lane([1, 2, 3])
    var other = Self.lane([1, 2, 3], voids: [2: [7...7]])
    #expect(Self.fault(lane + [other[1]]) == .init(2, .signedTwice))
    other[0] = lane[0]
    #expect(Self.fault([lane[0], lane[1], other[2]]) == .init(3, .anotherHistory))
    let fresh = Self.lane([3])
    #expect(Self.fault([lane[0], lane[1], fresh[0]]) == .init(3, .anotherHistory))
  }

  @Test("a statement is read as it was written, and nothing else is one")
  func form() throws {
    let statement = ItemStatement(
      client: "c", lane: "l", sequence: 9, digest: Self.digest(9),
      former: .init(sequence: 5, hash: Self.digest(5)), voids: [6...7, 8...8], isAnew: true)
    #expect(ItemStatement(payload: statement.payload) == statement)
    let text = String(decoding: statement.payload, as: UTF8.self)
    for (old, new) in [
      (#""sequence":9"#, #""sequence":0"#), (#""sequence":5"#, #""sequence":9"#),
      (#""first":6"#, #""first":8"#), (#""digest":""#, #""digest":"AA"#), (#""lane""#, #""lame""#),
    ] {
      #expect(ItemStatement(payload: Array(text.replacing(old, with: new).utf8)) == nil, "\(new)")
    }
  }
}

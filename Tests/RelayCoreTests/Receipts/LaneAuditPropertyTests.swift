import RelayCore
import Testing

@Suite("The audit of random lanes")
struct LaneAuditPropertyTests {
  private static let states: [EnvelopeState?] = [.failed, .expired, .cancelled, nil]

  /// An honest lane of some chance.
  private static func lane(_ random: inout SplitMix64) -> AuditedLane {
    var lane = AuditedLane(begin: Int64.random(in: 1...300, using: &random))
    for _ in 0..<Int.random(in: 6...40, using: &random) {
      switch Int.random(in: 0..<10, using: &random) {
      case 0: lane.giveUp()
      case 1..<7: lane.take(.delivered, requests: Int.random(in: 1...2, using: &random))
      default:
        let state = states.randomElement(using: &random) ?? nil
        lane.take(state, requests: Int.random(in: 0...1, using: &random))
      }
      if lane.rows.last?.number == lane.chain.through, Int.random(in: 0..<6, using: &random) == 0 {
        lane.receipt()
      }
    }
    lane.take(.delivered, requests: 1)
    lane.receipt()
    // What came once may come again at any later time.
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let place = lane.requests.indices.randomElement(using: &random) ?? 0
      let later = Int.random(in: place...lane.requests.count - 1, using: &random)
      lane.requests.insert(lane.requests[place], at: later + 1)
    }
    split(&lane, &random)
    return lane
  }

  /// Pages of chance, some of which overlap.
  private static func split(_ lane: inout AuditedLane, _ random: inout SplitMix64) {
    var first = lane.numbers.first
    while first <= lane.numbers.last {
      let last = min(lane.numbers.last, first + Int64.random(in: 0...15, using: &random))
      lane.pages.append(SequenceRange(first: first, last: last))
      first = max(first + 1, last + 1 - Int64.random(in: 0...2, using: &random))
    }
    if Bool.random(using: &random) { lane.pages.shuffle(using: &random) }
  }

  @Test("an honest one holds, and the counts are right", arguments: 1...200 as ClosedRange<UInt64>)
  func honest(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let lane = Self.lane(&random)
    var counts = LaneAudit.Counts()
    counts.delivered = Int64(lane.rows.count { $0.ending?.state == .delivered })
    counts.failed = Int64(lane.rows.count { $0.ending?.state == .failed })
    counts.expired = Int64(lane.rows.count { $0.ending?.state == .expired })
    counts.cancelled = Int64(lane.rows.count { $0.ending?.state == .cancelled })
    counts.waiting = Int64(lane.rows.count { $0.ending == nil })
    counts.givenUp = lane.numbers.count - Int64(lane.rows.count)
    counts.repeated = Int64(lane.requests.count - Set(lane.requests.map(\.number)).count)
    #expect(try lane.verdict() == .holds(counts))
  }

  /// One way to tamper with a lane.
  enum Deed: CaseIterable {
    case dropRow, dropRowAndRelink, changeDigest, changeDigestAndRelink, changeLink, swapRows
    case addRow, claimDelivered
    case dropRequest, changeRequest, swapRequests, addRequest, addAnotherRequest
  }

  /// What an audit has to say of a deed.
  private struct Expected {
    /// The number that was tampered with.
    var number: Int64
    var reasons: Set<LaneAudit.Fault.Reason>
    /// Whether it has to be told alone, and not among several.
    var isExact = true
  }

  @Test(
    "each single deed is found, and its number named", arguments: Deed.allCases,
    1...60 as ClosedRange<UInt64>)
  func tampered(deed: Deed, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var lane = Self.lane(&random)
    guard let expected = Self.tamper(&lane, deed, &random) else { return }
    let verdict = try lane.verdict()
    guard case .fails(let fault) = verdict else {
      Issue.record("\(deed) of \(expected.number) is not found")
      return
    }
    #expect(expected.reasons.contains(fault.reason), "\(verdict)")
    #expect(
      fault.numbers.first <= expected.number && expected.number <= fault.numbers.last,
      "\(expected.number): \(verdict)")
    if expected.isExact { #expect(fault.numbers.count == 1, "\(expected.number): \(verdict)") }
    // Else it lies between two receipts.
    let ends = lane.heads.map(\.chain.last)
    #expect(!ends.contains { fault.numbers.first <= $0 && $0 < fault.numbers.last }, "\(verdict)")
  }

  @Test("each deed can be done to some of the lanes")
  func coverage() {
    for deed in Deed.allCases {
      let done = (1...60 as ClosedRange<UInt64>).count { seed in
        var random = SplitMix64(seed: seed)
        var lane = Self.lane(&random)
        return Self.tamper(&lane, deed, &random) != nil
      }
      #expect(done >= 20, "\(deed)")
    }
  }

  /// Does it; nil if the lane has nothing to do it to.
  private static func tamper(
    _ lane: inout AuditedLane, _ deed: Deed, _ random: inout SplitMix64
  ) -> Expected? {
    switch deed {
    case .addRow: addRow(&lane, &random)
    case .claimDelivered, .dropRequest, .changeRequest, .swapRequests, .addRequest,
      .addAnotherRequest:
      tamperWithRequests(&lane, deed, &random)
    default: tamperWithRow(&lane, deed, &random)
    }
  }

  private static func tamperWithRow(
    _ lane: inout AuditedLane, _ deed: Deed, _ random: inout SplitMix64
  ) -> Expected? {
    guard let row = lane.rows.randomElement(using: &random) else { return nil }
    let number = row.number
    let place = lane.place(number)
    let hasArrived = lane.hasArrived(number)
    switch deed {
    case .dropRow, .dropRowAndRelink:
      lane.rows.remove(at: place)
      if deed == .dropRowAndRelink { lane.relink() }
      return Expected(
        number: number,
        reasons: hasArrived
          ? [.leftOutOfLedger]
          : [.leftOutOfLedger, .linkDoesNotFollow, .ledgerDoesNotLeadToReceipt],
        isExact: hasArrived)
    case .changeDigest, .changeDigestAndRelink:
      lane.rows[place].digest = AuditedLane.digest(number, 1)
      if deed == .changeDigestAndRelink { lane.relink() }
      return Expected(
        number: number,
        reasons: hasArrived
          ? [.changedInLedger]
          : [deed == .changeDigest ? .linkDoesNotFollow : .ledgerDoesNotLeadToReceipt],
        isExact: hasArrived)
    case .changeLink:
      lane.rows[place].link = AuditedLane.digest(number, 1)
      return Expected(number: number, reasons: [.linkDoesNotFollow])
    default:
      let other = lane.rows.indices.filter { $0 > place }.randomElement(using: &random)
      guard let other else { return nil }
      let copy = lane.rows
      (lane.rows[place].digest, lane.rows[place].link) = (copy[other].digest, copy[other].link)
      (lane.rows[other].digest, lane.rows[other].link) = (row.digest, row.link)
      return Expected(
        number: number, reasons: [hasArrived ? .changedInLedger : .linkDoesNotFollow],
        isExact: hasArrived)
    }
  }

  /// A number that was given up, if there is one.
  private static func gap(_ lane: AuditedLane, _ random: inout SplitMix64) -> Int64? {
    let known = Set(lane.rows.map(\.number))
    return (lane.numbers.first...lane.numbers.last).filter { !known.contains($0) }
      .randomElement(using: &random)
  }

  private static func addRow(
    _ lane: inout AuditedLane, _ random: inout SplitMix64
  ) -> Expected? {
    guard let number = gap(lane, &random) else { return nil }
    let place = lane.rows.firstIndex { $0.number > number } ?? lane.rows.count
    guard place > 0 else { return nil }
    let digest = AuditedLane.digest(number)
    let former = lane.rows[place - 1].link
    let state = Self.states.randomElement(using: &random) ?? nil
    lane.rows.insert(
      LedgerEntry(
        number: number, digest: digest,
        link: LaneChain.link(after: former, number, digest, AuditedLane.hash),
        ending: state.map { AuditedLane.ending($0) }), at: place)
    return Expected(number: number, reasons: [.addedToLedger])
  }

  private static func tamperWithRequests(
    _ lane: inout AuditedLane, _ deed: Deed, _ random: inout SplitMix64
  ) -> Expected? {
    switch deed {
    case .claimDelivered:
      let row = lane.rows.filter { !lane.hasArrived($0.number) }.randomElement(using: &random)
      guard let number = row?.number else { return nil }
      lane.rows[lane.place(number)].ending = AuditedLane.ending(.delivered)
      return Expected(number: number, reasons: [.notAtUpstream])
    case .dropRequest:
      let row = lane.rows.filter { $0.ending?.state == .delivered }.randomElement(using: &random)
      guard let number = row?.number else { return nil }
      lane.requests.removeAll { $0.number == number }
      return Expected(number: number, reasons: [.notAtUpstream])
    case .changeRequest:
      guard let place = lane.requests.indices.randomElement(using: &random) else { return nil }
      let number = lane.requests[place].number
      lane.requests[place].digest = AuditedLane.digest(number, 1)
      return Expected(number: number, reasons: [.anotherRequestAtUpstream])
    case .swapRequests:
      let numbers = Set(lane.requests.map(\.number)).sorted()
      guard numbers.count > 1 else { return nil }
      let first = Int.random(in: 0..<numbers.count - 1, using: &random)
      let second = Int.random(in: first + 1..<numbers.count, using: &random)
      let places = [first, second].compactMap { index in
        lane.requests.firstIndex { $0.number == numbers[index] }
      }
      lane.requests.swapAt(places[0], places[1])
      return Expected(number: numbers[first], reasons: [.anotherOrder])
    case .addRequest:
      guard let number = gap(lane, &random) else { return nil }
      let place = lane.requests.firstIndex { $0.number > number } ?? lane.requests.count
      lane.requests.insert((number, AuditedLane.digest(number)), at: place)
      return Expected(number: number, reasons: [.notInLedger])
    default:
      guard let number = lane.requests.randomElement(using: &random)?.number else { return nil }
      lane.requests.append((number, AuditedLane.digest(number, 1)))
      return Expected(number: number, reasons: [.anotherRequestAtUpstream])
    }
  }
}

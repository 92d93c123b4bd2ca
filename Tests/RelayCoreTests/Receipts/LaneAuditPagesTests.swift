import RelayCore
import Testing

@Suite("The pages of an audit")
struct LaneAuditPagesTests {
  private static let noAnswer = LedgerEntry.Ending(
    state: .delivered, status: 200, responseDigest: LedgerEntry.noDigest, at: AuditedLane.time)
  private static let undelivered: [LedgerEntry.Ending?] = [
    nil, AuditedLane.ending(.failed), AuditedLane.ending(.expired), AuditedLane.ending(.cancelled),
  ]
  private static let delivered: [LedgerEntry.Ending?] = [
    AuditedLane.ending(.delivered), AuditedLane.ending(.delivered, status: 201), noAnswer,
  ]

  /// What comes of pages that say this of one number, each so many long times after the first.
  private func isHonest(_ said: [(ending: LedgerEntry.Ending?, at: Int64)]) throws -> Bool {
    var lane = AuditedLane()
    lane.take(nil, requests: 1)
    lane.receipt()
    var evidence = LaneEvidence()
    for (ending, time) in said {
      lane.rows[0].ending = ending
      lane.add(to: &evidence, after: time * (LaneEvidence.clocksApartMs + 1))
    }
    switch try AuditedLane.verdict(lane.heads, evidence) {
    case .holds: return true
    case .fails(let fault):
      #expect(fault == LaneAudit.Fault(lane.numbers, .pagesContradict))
      return false
    }
  }

  @Test("of two pages only the earlier one's delivery binds the later one")
  func pairs() throws {
    let all = Self.undelivered + Self.delivered
    for former in all {
      for later in all {
        let isSame = former == later || former == Self.delivered[0] && later == Self.noAnswer
        let isFree = former?.state != .delivered
        #expect(
          try isHonest([(former, 0), (later, 1)]) == (isFree || isSame), "\(former) \(later)")
        // Where they stand in the file says nothing.
        #expect(
          try isHonest([(later, 1), (former, 0)]) == (isFree || isSame), "\(former) \(later)")
        let isEitherFree = isFree || later?.state != .delivered
        let isReverse = later == Self.delivered[0] && former == Self.noAnswer
        #expect(
          try isHonest([(former, 0), (later, 0)]) == (isEitherFree || isSame || isReverse),
          "\(former) \(later)")
      }
    }
  }

  @Test("a delivery binds all pages behind it, and none before it")
  func several() throws {
    let (failed, delivered) = (Self.undelivered[1], Self.delivered[0])
    #expect(try isHonest([(failed, 0), (nil, 1), (failed, 2), (delivered, 3), (delivered, 4)]))
    #expect(try !isHonest([(nil, 0), (delivered, 1), (Self.noAnswer, 2), (nil, 3)]))
    #expect(try !isHonest([(delivered, 0), (Self.noAnswer, 1), (Self.delivered[1], 2)]))
  }

  @Test("a chain without a row is told apart from one that lacks some")
  func chainWithoutRows() throws {
    var (first, second) = (AuditedLane(), AuditedLane(begin: 3, incarnation: 7))
    for _ in 1...2 { first.take(.delivered, requests: 1) }
    second.take(.delivered, requests: 1)
    first.receipt()
    second.receipt()
    var evidence = LaneEvidence()
    evidence.add(second.rows, speakingFor: SequenceRange(first: 1, last: 3), at: AuditedLane.time)
    for lane in [first, second] {
      for request in lane.requests { evidence.add(request: request.number, request.digest) }
    }
    let chains = try LaneAudit.chains(
      of: first.heads + second.heads, from: nil, AuditedLane.hash)
    let audit = LaneAudit(evidence, AuditedLane.hash)
    #expect(
      audit.verdict(on: chains[0])
        == .fails(LaneAudit.Fault(first.numbers, .chainNotInLedger, next: 3)))
    #expect(audit.verdict(on: chains[1]) == (try second.verdict()))
  }
}

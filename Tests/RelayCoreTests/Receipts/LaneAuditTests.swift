import RelayCore
import Testing

@Suite("The audit of a lane")
struct LaneAuditTests {
  /// Numbers 1 to 9: 4 given up, 5 failed unseen, 7 waiting; receipts of 3, 6 and 9.
  private let lane: AuditedLane = {
    var lane = AuditedLane()
    lane.take(.delivered, requests: 1)
    lane.take(.delivered, requests: 2)
    lane.take(.delivered, requests: 1)
    lane.receipt()
    lane.giveUp()
    lane.take(.failed)
    lane.take(.expired, requests: 1)
    lane.receipt()
    lane.take(nil)
    lane.take(.cancelled)
    lane.take(.delivered, requests: 1)
    lane.receipt()
    return lane
  }()

  private func tampered(_ body: (inout AuditedLane) -> Void) throws -> LaneAudit.Verdict {
    var lane = lane
    body(&lane)
    return try lane.verdict()
  }

  private func fault(
    _ first: Int64, _ last: Int64, _ reason: LaneAudit.Fault.Reason
  ) -> LaneAudit.Verdict {
    .fails(LaneAudit.Fault(SequenceRange(first: first, last: last), reason))
  }

  private func fault(
    _ number: Int64, _ reason: LaneAudit.Fault.Reason, behind: Int64? = nil
  ) -> LaneAudit.Verdict {
    .fails(
      LaneAudit.Fault(SequenceRange(first: number, last: number), reason, behind: behind))
  }

  @Test("an honest lane holds, and what became of its numbers is counted")
  func holds() throws {
    var counts = LaneAudit.Counts()
    counts.delivered = 4
    (counts.failed, counts.expired, counts.cancelled, counts.waiting) = (1, 1, 1, 1)
    (counts.givenUp, counts.repeated) = (1, 1)
    #expect(try lane.verdict() == .holds(counts))
    var twice = counts
    twice.add(counts)
    #expect(twice.delivered == 8 && twice.givenUp == 2 && twice.repeated == 2)
  }

  @Test("requests of numbers that no chain speaks for are counted, and nothing else")
  func outside() throws {
    var lane = lane
    lane.requests += [(12, AuditedLane.digest(12)), (12, AuditedLane.digest(12))]
    var evidence = LaneEvidence()
    lane.add(to: &evidence)
    let chains = try LaneAudit.chains(of: lane.heads, from: nil, AuditedLane.hash)
    let audit = LaneAudit(evidence, AuditedLane.hash)
    #expect(audit.requests(outside: chains) == 2)
    #expect(audit.verdict(on: chains[0]) == (try self.lane.verdict()))
  }

  @Test("a row that was changed is named, whether its link was made anew or not")
  func changed() throws {
    for isRelinked in [false, true] {
      let verdict = try tampered { lane in
        lane.rows[lane.place(2)].digest = AuditedLane.digest(2, 1)
        if isRelinked { lane.relink() }
      }
      #expect(verdict == fault(2, .changedInLedger))
    }
  }

  @Test("a row that the upstream never got is named by its link, or by two receipts around it")
  func changedUnseen() throws {
    let broken = try tampered { $0.rows[$0.place(8)].digest = AuditedLane.digest(8, 1) }
    #expect(broken == fault(8, .linkDoesNotFollow))
    let behindGap = try tampered { $0.rows[$0.place(5)].digest = AuditedLane.digest(5, 1) }
    #expect(behindGap == fault(4, 5, .linkDoesNotFollow))
    let relinked = try tampered { lane in
      lane.rows[lane.place(8)].digest = AuditedLane.digest(8, 1)
      lane.relink()
    }
    #expect(relinked == fault(7, 9, .ledgerDoesNotLeadToReceipt))
    let alone = try tampered { lane in
      lane.rows[lane.place(8)].digest = AuditedLane.digest(8, 1)
      lane.relink()
      lane.heads.removeFirst(2)
    }
    #expect(alone == fault(1, 9, .ledgerDoesNotLeadToReceipt))
  }

  @Test("a row that was left out is named, by the upstream, by the receipt, or by its neighbours")
  func leftOut() throws {
    for isRelinked in [false, true] {
      let seen = try tampered { lane in
        lane.rows.remove(at: lane.place(2))
        if isRelinked { lane.relink() }
      }
      #expect(seen == fault(2, .leftOutOfLedger))
      let last = try tampered { lane in
        lane.rows.remove(at: lane.place(9))
        lane.requests.removeLast()
        if isRelinked { lane.relink() }
      }
      #expect(last == fault(9, .leftOutOfLedger))
    }
    let unseen = try tampered { $0.rows.remove(at: $0.place(8)) }
    #expect(unseen == fault(8, .leftOutOfLedger))
    let beforeUnseen = try tampered { $0.rows.remove(at: $0.place(7)) }
    #expect(beforeUnseen == fault(7, 8, .linkDoesNotFollow))
    let all = try tampered { lane in
      lane.rows.removeAll()
      lane.requests.removeAll()
    }
    #expect(all == fault(3, .leftOutOfLedger))
  }

  @Test("a row that was put in is named")
  func added() throws {
    func row(_ lane: AuditedLane, _ state: EnvelopeState?) -> LedgerEntry {
      let digest = AuditedLane.digest(4)
      let link = LaneChain.link(
        after: lane.rows[lane.place(3)].link, 4, digest, AuditedLane.hash)
      return LedgerEntry(
        number: 4, digest: digest, link: link, ending: state.map { AuditedLane.ending($0) })
    }
    for state in [EnvelopeState.delivered, .failed, nil] {
      let verdict = try tampered { $0.rows.insert(row($0, state), at: 3) }
      #expect(verdict == fault(4, .addedToLedger))
    }
    let relinked = try tampered { lane in
      lane.rows.insert(row(lane, .delivered), at: 3)
      lane.relink()
    }
    #expect(relinked == fault(4, .notAtUpstream))
  }

  @Test("two rows in each other's place are named by the first")
  func swappedRows() throws {
    let verdict = try tampered { lane in
      let (first, second) = (lane.place(2), lane.place(3))
      (lane.rows[first].digest, lane.rows[second].digest) =
        (lane.rows[second].digest, lane.rows[first].digest)
    }
    #expect(verdict == fault(2, .changedInLedger))
  }

  @Test("a link that was changed is named, though the digests lead to the receipt")
  func changedLink() throws {
    let verdict = try tampered { $0.rows[$0.place(2)].link = AuditedLane.digest(2, 1) }
    #expect(verdict == fault(2, .linkDoesNotFollow))
  }

  @Test("what the upstream did not get, or got otherwise, or got beside, is named")
  func upstream() throws {
    #expect(
      try tampered { $0.requests.removeAll { $0.number == 2 } } == fault(2, .notAtUpstream))
    #expect(
      try tampered { $0.rows[$0.place(8)].ending = AuditedLane.ending(.delivered) }
        == fault(8, .notAtUpstream))
    let repeated = try tampered { $0.requests.append((2, AuditedLane.digest(2, 1))) }
    #expect(repeated == fault(2, .anotherRequestAtUpstream))
    let failed = try tampered { $0.requests.append((9, AuditedLane.digest(9, 1))) }
    #expect(failed == fault(9, .anotherRequestAtUpstream))
    let given = try tampered { $0.requests.insert((4, AuditedLane.digest(4)), at: 4) }
    #expect(given == fault(4, .notInLedger))
  }

  @Test("a number that came behind a later one is named, with that")
  func order() throws {
    #expect(try tampered { $0.requests.swapAt(0, 5) } == fault(1, .anotherOrder, behind: 9))
    #expect(try tampered { $0.requests.swapAt(3, 4) } == fault(3, .anotherOrder, behind: 6))
    // A repeat of the first number may come at any time.
    #expect(try tampered { $0.requests.append($0.requests[0]) } != lane.verdict())
    let repeated = try tampered { $0.requests.append($0.requests[0]) }
    guard case .holds(let counts) = repeated else { throw Unexpected(verdict: repeated) }
    #expect(counts.repeated == 2)
  }

  struct Unexpected: Error { let verdict: LaneAudit.Verdict }

  @Test("the lowest number that fails is named")
  func lowest() throws {
    let both = try tampered { lane in
      lane.requests.removeLast()
      lane.requests.swapAt(0, 1)
      lane.requests.swapAt(0, 3)
    }
    #expect(both == fault(1, .anotherOrder, behind: 3))
    let other = try tampered { lane in
      lane.requests.removeAll { $0.number == 1 }
      lane.rows[lane.place(8)].digest = AuditedLane.digest(8, 1)
    }
    #expect(other == fault(1, .notAtUpstream))
  }

  @Test("numbers of which no page speaks are named before anything else")
  func pages() throws {
    let cut = try tampered { lane in
      lane.pages = [SequenceRange(first: 1, last: 4), SequenceRange(first: 6, last: 9)]
      lane.requests.removeAll()
    }
    #expect(cut == fault(5, .noPage))
    let short = try tampered { $0.pages = [SequenceRange(first: 1, last: 8)] }
    #expect(short == fault(9, .noPage))
    let late = try tampered { $0.pages = [SequenceRange(first: 2, last: 9)] }
    #expect(late == fault(1, .noPage))
    let overlapping = try tampered { lane in
      lane.pages = [SequenceRange(first: 3, last: 20), SequenceRange(first: 1, last: 6)]
    }
    #expect(try overlapping == lane.verdict())
  }

  @Test("pages that were signed at different times agree while a number ends, and is forgotten")
  func laterPages() throws {
    let later = WallTime(millisecondsSinceEpoch: AuditedLane.time.millisecondsSinceEpoch + 1)
    var evidence = LaneEvidence()
    var changed = lane
    changed.rows.removeFirst()
    changed.rows[changed.place(7)].ending = AuditedLane.ending(.failed)
    changed.rows[changed.place(5)].ending = nil
    evidence.add(changed.rows, speakingFor: changed.numbers, at: later)
    lane.add(to: &evidence)
    guard case .holds(let counts) = try AuditedLane.verdict(lane.heads, evidence) else {
      throw Unexpected(verdict: try AuditedLane.verdict(lane.heads, evidence))
    }
    #expect(counts.waiting == 1 && counts.failed == 1 && counts.delivered == 4)
  }

  @Test("pages that contradict each other are named, and a delivery that is taken back is not lost")
  func contradictingPages() throws {
    func verdict(_ body: (inout LedgerEntry) -> Void) throws -> LaneAudit.Verdict {
      var evidence = LaneEvidence()
      var other = lane
      body(&other.rows[other.place(3)])
      other.requests = []
      lane.add(to: &evidence)
      other.add(to: &evidence)
      return try AuditedLane.verdict(lane.heads, evidence)
    }
    #expect(try verdict { $0.digest = AuditedLane.digest(3, 1) } == fault(3, .pagesContradict))
    #expect(try verdict { $0.link = AuditedLane.digest(3, 1) } == lane.verdict())
    #expect(
      try verdict { $0.ending = AuditedLane.ending(.delivered, status: 409) }
        == fault(3, .pagesContradict))
    #expect(try verdict { $0.ending = nil } == lane.verdict())
  }

  @Test("receipts that contradict each other are named")
  func contradictingReceipts() throws {
    let links = try tampered { lane in
      var other = AuditedLane()
      for _ in 1...6 { other.take(nil) }
      other.receipt()
      lane.heads += other.heads
    }
    #expect(links == fault(6, .receiptsContradict))
    #expect(try tampered { $0.heads += $0.heads } == lane.verdict())
  }

  @Test("an audit begins behind an older receipt where that is wanted, and only there")
  func from() throws {
    var evidence = LaneEvidence()
    var lane = lane
    lane.rows.removeFirst(3)
    lane.requests.removeFirst(4)
    lane.pages = [SequenceRange(first: 4, last: 9)]
    lane.add(to: &evidence)
    guard case .holds(let counts) = try AuditedLane.verdict(lane.heads, from: 4, evidence) else {
      throw Unexpected(verdict: try AuditedLane.verdict(lane.heads, from: 4, evidence))
    }
    #expect(counts.delivered == 1 && counts.givenUp == 1)
    #expect(try AuditedLane.verdict(lane.heads, evidence) == fault(1, .noPage))
    #expect(throws: LaneAudit.NoReceiptBefore(number: 5)) {
      try AuditedLane.verdict(lane.heads, from: 5, evidence)
    }
    #expect(throws: LaneAudit.NoReceiptBefore(number: 10)) {
      try AuditedLane.verdict(lane.heads, from: 10, evidence)
    }
  }

  @Test("each chain of a lane is audited by itself")
  func chains() throws {
    var second = AuditedLane(begin: 20, incarnation: 3)
    second.take(.delivered, requests: 1)
    second.receipt()
    var evidence = LaneEvidence()
    lane.add(to: &evidence)
    evidence.add(request: 15, AuditedLane.digest(15))
    second.add(to: &evidence)
    let chains = try LaneAudit.chains(
      of: second.heads + lane.heads, from: nil, AuditedLane.hash)
    #expect(chains.map(\.numbers) == [lane.numbers, second.numbers])
    #expect(chains.map(\.incarnation[0]) == [9, 3])
    let audit = LaneAudit(evidence, AuditedLane.hash)
    #expect(audit.verdict(on: chains[0]) == (try lane.verdict()))
    #expect(audit.verdict(on: chains[1]) == (try second.verdict()))
    #expect(audit.requests(outside: chains) == 1)
    let late = try LaneAudit.chains(of: second.heads + lane.heads, from: 20, AuditedLane.hash)
    #expect(late.map(\.numbers) == [second.numbers])
  }

  @Test("a row and a page have the bytes of the documentation")
  func bytes() throws {
    let row = LedgerEntry(
      number: 3, digest: AuditedLane.digest(3), link: AuditedLane.digest(3, 1),
      ending: AuditedLane.ending(.cancelled, status: 409))
    var expected = Array("waystation.end.v1".utf8) + [0, 0, 0, 0, 6] + Array("till-1".utf8)
    expected += [0, 0, 0, 5] + Array("sales".utf8) + [0, 0, 0, 0, 0, 0, 0, 3]
    expected += AuditedLane.digest(3) + [4, 1, 0x99] + AuditedLane.hash([])
    expected += [0, 0, 1, 0xA1, 0x8D, 0xF7, 0xF5, 0x7B]
    #expect(row.bytes(of: AuditedLane.lane) == expected)
    let waiting = LedgerEntry(number: 3, digest: row.digest, link: row.link, ending: nil)
    let end = [UInt8](repeating: 0, count: 1 + 2 + 32 + 8)
    #expect(waiting.bytes(of: AuditedLane.lane) == expected.dropLast(end.count) + end)
    let hash = AuditedLane.hash
    func root(_ entries: [LedgerEntry]) -> [UInt8] {
      LedgerEntry.root(of: entries, in: AuditedLane.lane, hash)
    }
    #expect(root([]) == hash([]))
    #expect(root([row]) == hash([0] + expected))
    #expect(root([row, waiting]) == hash([1] + root([row]) + root([waiting])))
  }
}

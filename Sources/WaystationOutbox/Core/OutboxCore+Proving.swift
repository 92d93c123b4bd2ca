import RelayCore

// In an evidence lane an item is over once the relay has signed how it has ended: the row of its
// ledger was fetched, verified, and held against what was sent.
extension OutboxCore {
  // MARK: - Asking

  /// The question for the next ends that are to be signed; nil if none is due.
  func nextProof(at now: Moment) throws(StoreError) -> OutgoingExchange? {
    // In turn, so that no lane keeps the others waiting.
    let last = state.custody.lastProof ?? LaneNumber(raw: 0)
    let lanes = state.custody.proofs.keys.sorted()
    for lane in lanes.filter({ $0 > last }) + lanes.filter({ $0 <= last })
    where settings.wantsEvidence(of: name(of: lane)) {
      state.custody.proofs[lane]?.beginRound(at: now.monotonicMs)
      guard let proof = state.custody.proofs[lane] else { continue }
      guard proof.isIdle else {
        if let numbers = try nextNumbers(of: lane, at: now) { return ask(lane, numbers) }
        continue
      }
      if let due = proof.roundAt { noteDue(due) }
    }
    return nil
  }

  /// Whether something is to be asked that is to be signed.
  func isProofDue(at now: Moment) -> Bool {
    state.custody.proofs.values.contains { !$0.isIdle || $0.roundAt ?? .max <= now.monotonicMs }
  }

  /// The numbers of a lane that are asked about next; nil if this round is over.
  private func nextNumbers(
    of lane: LaneNumber, at now: Moment
  ) throws(StoreError) -> ClosedRange<Int64>? {
    var proof = state.custody.proofs[lane] ?? Proof()
    let numbers = try file.unproven(
      of: lane, above: proof.cursor, countMax: SignedLedgerPage.rowsMax)
    if let lowest = numbers.first, let highest = numbers.last {
      // Pages follow on each other, so that an auditor misses none.
      let next = max(proof.cursor, try file.lastOnPages(of: lane) ?? lowest) + 1
      let isFar = lowest - next > CoreLimits.ledgerGapMax
      return (isFar ? lowest : min(next, lowest))...highest
    }
    let isOver = try file.unproven(of: lane, above: 0, countMax: 1).isEmpty
    let roundAt = proof.endRound(nextAt: now.monotonicMs + CoreLimits.proofPauseMs)
    state.custody.proofs[lane] = isOver ? nil : proof
    if !isOver { noteDue(roundAt) }
    return nil
  }

  private func ask(_ lane: LaneNumber, _ numbers: ClosedRange<Int64>) -> OutgoingExchange {
    state.custody.lastProof = lane
    state.custody.proofs[lane]?.toldMeanwhile = nil
    return begin(
      .ledger(lane, numbers: numbers),
      OutgoingRequest(
        method: "GET",
        path: RelayPath.ledger(of: settings.client, lane: name(of: lane), numbers)))
  }

  // MARK: - What is signed

  /// Takes the answer to ``nextProof(at:)``.
  func takeLedger(
    _ response: Response, of lane: LaneNumber, _ numbers: ClosedRange<Int64>, at now: Moment
  ) throws(StoreError) {
    guard response.status == 200 else {
      guard let problem = RelayProblem(response) else {
        return notReachable(.notTheRelay, at: now)
      }
      state.sender.answered()
      return refuse(lane, problem.status == 404 ? .noLedger : .unreadable, at: now)
    }
    // A network that wants one to sign in first answers with a page of its own.
    let type = response.headers.first { $0.0.lowercased() == "content-type" }?.1 ?? ""
    guard type.hasPrefix("application/x-ndjson") else {
      return notReachable(.notTheRelay, at: now)
    }
    state.sender.answered()
    guard let page = SignedLedgerPage(response.body) else {
      return refuse(lane, .unreadable, at: now)
    }
    switch verdict(on: page, of: lane, numbers, at: now) {
    case .askKeys(let key):
      state.custody.proofs[lane]?.waitsForKeys = true
      state.custody.wantedKeys.insert(key)
      state.custody.wantsKeys = true
    case .refused(let fault): refuse(lane, fault, at: now)
    case .holds: try take(page, of: lane, numbers)
    }
  }

  private enum Verdict {
    case holds
    case askKeys(String)
    case refused(CustodyFault)
  }

  private func verdict(
    on page: SignedLedgerPage, of lane: LaneNumber, _ numbers: ClosedRange<Int64>, at now: Moment
  ) -> Verdict {
    let signature = page.signature
    guard let verifier = settings.verifier, let hash = receiptHash, let text = signature.text,
      signature.lane == LaneName(client: settings.client, lane: name(of: lane)),
      signature.first == numbers.lowerBound, signature.last <= numbers.upperBound
    else { return .refused(.unreadable) }
    guard let key = state.custody.ring.keys[text.keyID] else {
      // The relay may have another key by the time it is asked again, but not each time.
      let asks = state.custody.proofs[lane]?.keyAsks ?? 0
      guard asks < CoreLimits.keyAsksMax, !isAbsent(text.keyID, at: now) else {
        return .refused(.unknownKey(KeyID(text.keyID)))
      }
      return .askKeys(text.keyID)
    }
    guard verifier.verify(text.signature, of: text.message, by: key) else {
      return .refused(.badSignature)
    }
    return signature.fault(of: page.entries, hash) == nil ? .holds : .refused(.badPath)
  }

  /// Takes what a page says of its numbers.
  private func take(
    _ page: SignedLedgerPage, of lane: LaneNumber, _ numbers: ClosedRange<Int64>
  ) throws(StoreError) {
    var proven: [(item: KeptItem, ending: LedgerEntry.Ending)] = []
    var isOfUse = page.signature.last > (try file.lastOnPages(of: lane) ?? 0)
    for entry in page.entries {
      guard let ending = entry.ending,
        let item = try file.item(lane, sequence: UInt64(clamping: entry.number)), item.isHanded
      else { continue }
      let number = UInt64(clamping: entry.number)
      switch try compare(item, with: entry) {
      case .same: proven.append((item, ending))
      case .different: if doubt(lane, .ledgerDiffers(number)) { isOfUse = true }
      case .unreadable: doubt(lane, .bodyUnreadable(number))
      }
    }
    // One that says nothing new is not kept: it would come again and again.
    if isOfUse || !proven.isEmpty, page.signature.numbers != nil {
      let id = try file.insert(page, of: lane)
      for (item, _) in proven { try file.insertProof(of: item.id, page: id) }
    }
    for (item, ending) in proven { try endSigned(item, ending) }
    // Behind the last of its rows a page says nothing; without rows there are none at all.
    let last = page.entries.isEmpty ? numbers.upperBound : page.signature.last
    let missing = try file.unproven(
      of: lane, above: numbers.lowerBound - 1, countMax: SignedLedgerPage.rowsMax
    ).first { $0 <= last && page.entry(of: $0) == nil }
    if let missing, try hasCome(to: missing, of: lane) {
      doubt(lane, .notInLedger(UInt64(clamping: missing)))
    }
    state.custody.proofs[lane]?.hasAsked(through: last)
  }

  /// Whether the relay's chain has to have come to a number.
  ///
  /// What ended while numbers before it were missing has no row until those have come.
  private func hasCome(to number: Int64, of lane: LaneNumber) throws(StoreError) -> Bool {
    if number <= Int64(clamping: lastSigned(of: lane)) { return true }
    if try file.hasUnhanded(of: lane, below: number) { return false }
    return try !file.hasVoid(of: lane, above: 0, through: number)
  }

  private enum Comparison {
    case same, different, unreadable
  }

  /// Holds a row against what was sent.
  ///
  /// Of an item that was let go of nothing can be compared: that was before the lane kept evidence.
  private func compare(
    _ item: KeptItem, with entry: LedgerEntry
  ) throws(StoreError) -> Comparison {
    let content: (request: KeptRequest, body: KeptBody)?
    do throws(StoreError) { content = try self.content(of: item) } catch {
      guard error.kind == .corrupt else { throw error }
      return .unreadable
    }
    guard let (request, body) = content else { return .same }
    guard let ours = digest(of: item, request, body) else { return .unreadable }
    if ours == entry.digest { return .same }
    // Whoever has changed the file here is not the relay.
    if case .file(let path, _, let sums) = body, BodyFile.isChanged(path, sums) {
      return .unreadable
    }
    return .different
  }

  /// An item's request and its body; nil if they are gone, or not what was kept.
  private func soundContent(
    of item: KeptItem
  ) throws(StoreError) -> (request: KeptRequest, body: KeptBody)? {
    do throws(StoreError) { return try content(of: item) } catch {
      guard error.kind == .corrupt else { throw error }
      return nil
    }
  }

  private func digest(
    of item: KeptItem, _ request: KeptRequest, _ body: KeptBody
  ) -> [UInt8]? {
    guard let hash = receiptHash, let sequence = item.sequence else { return nil }
    return covered(item, request, body, sequence).map { hash($0.bytes) }
  }

  private func endSigned(
    _ item: KeptItem, _ ending: LedgerEntry.Ending
  ) throws(StoreError) {
    let kind = EndingKind(state: ending.state.rawValue) ?? .unknown
    if let told = try file.ending(item.id), told.kind == kind { return try endAsTold(item) }
    let error = kind == .refused ? RecordedError.upstream(status: ending.status) : nil
    try end(item, kind, error: error)
  }

  // MARK: - What does not hold

  /// Nothing that the relay signs of a lane can be taken: it is asked again later.
  private func refuse(_ lane: LaneNumber, _ fault: CustodyFault, at now: Moment) {
    doubt(lane, fault)
    state.custody.proofs[lane]?.refuse(until: now.monotonicMs + CoreLimits.proofPauseMs)
  }

  /// Tells once of what stands: of the first fault of a round.
  ///
  /// - Returns: Whether it was not known.
  @discardableResult
  private func doubt(_ lane: LaneNumber, _ fault: CustodyFault) -> Bool {
    guard state.custody.proofs[lane, default: Proof()].note(fault) else { return false }
    tell(.custodyBroken(Lane(name(of: lane)), fault))
    return true
  }

  // MARK: - What is shown

  /// What shows to others what has become of an item; nil if nothing is known of its number.
  func evidence(_ id: Item.ID) throws(StoreError) -> Evidence? {
    let item = try file.item(id.raw)
    let ending = try file.ending(id.raw)
    guard let lane = item?.lane ?? ending?.lane, let key = item?.key ?? ending?.key,
      let sequence = item?.sequence ?? ending?.sequence
    else { return nil }
    let number = Int64(clamping: sequence)
    // Of one that is over it is the page by which it ended; else the latest that speaks of an end.
    let page =
      try item == nil
      ? file.pageOfProof(of: id.raw)
      : file.ledgerPages(of: lane, number...number).last { $0.entry(of: number)?.ending != nil }
    let entry = page?.entry(of: number)
    var ours: [UInt8]?
    if let item, let (request, body) = try soundContent(of: item) {
      ours = digest(of: item, request, body)
    }
    guard let digest = ours ?? entry?.digest else { return nil }
    let receipts = try receipts(of: name(of: lane)).filter {
      $0.begin <= sequence && sequence <= $0.last
    }
    return Evidence(
      lane: Lane(name(of: lane)), sequence: sequence, key: key, digest: digest,
      receipts: receipts, ending: page.flatMap { SignedEnding(entry, on: $0) })
  }

  /// The pages of a lane's ledger that are kept, in the order of their numbers.
  func ledger(of lane: String) throws(StoreError) -> [String] {
    guard let number = state.laneNumbers[lane] else { return [] }
    return try file.ledgerPages(of: number, 1...Int64.max)
      .sorted { $0.signature.first < $1.signature.first }
      .map { String(decoding: $0.bytes, as: UTF8.self) }
  }
}

extension SignedEnding {
  /// What a row of a page says; nil if it says of no end.
  init?(_ entry: LedgerEntry?, on page: SignedLedgerPage) {
    guard let ending = entry?.ending, let state = State(rawValue: ending.state.rawValue) else {
      return nil
    }
    self.init(
      state: state, status: ending.status > 0 ? ending.status : nil,
      responseDigest: ending.responseDigest == LedgerEntry.noDigest ? nil : ending.responseDigest,
      at: Instant(milliseconds: ending.at.millisecondsSinceEpoch),
      page: String(decoding: page.bytes, as: UTF8.self))
  }
}

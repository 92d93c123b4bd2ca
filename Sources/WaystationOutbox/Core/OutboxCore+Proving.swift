import RelayCore

// In an evidence lane an item is over once the relay has signed how it has ended: the row of its
// ledger was fetched, verified, and held against what was sent.
extension OutboxCore {
  /// Takes up the ends that are told and not signed.
  func takeUpProofs() throws(StoreError) {
    for lane in try file.unprovenLanes() { state.custody.proofs[lane] = Proof() }
  }

  // MARK: - What is told

  /// Ends an item that has ended at the relay; in an evidence lane, once that is signed.
  func endTold(
    _ item: KeptItem, _ kind: EndingKind, response: Response? = nil, error: RecordedError? = nil,
    attempts: Int? = nil
  ) throws(StoreError) {
    guard let sequence = item.sequence, settings.wantsEvidence(of: name(of: item.lane)) else {
      return try end(item, kind, response: response, error: error, attempts: attempts)
    }
    let known = try file.ending(item.id)
    // It may be told twice: by a check-in, with the upstream's answer, and by what the post got.
    if known?.kind != kind || response != nil {
      try file.insert(
        ending(of: item, kind, response: response, error: error, attempts: attempts))
    }
    if known == nil { try countEnding() }
    try file.insertUnproven(item.lane, sequence)
    state.custody.proofs[item.lane, default: Proof()].isTold(Int64(clamping: sequence))
    guard item.state.needsAttention else { return }
    var waiting = item
    waiting.state = .atRelay
    waiting.error = nil
    waiting.refuser = nil
    state.attention -= 1
    try file.update(waiting)
  }

  /// Whether the end of an item is told, and not signed.
  func isUnproven(_ item: KeptItem) throws(StoreError) -> Bool {
    guard state.custody.proofs[item.lane] != nil, let sequence = item.sequence else { return false }
    return try file.isUnproven(item.lane, sequence)
  }

  /// Waits no more for a signature.
  ///
  /// - Returns: Whether the item's ending is stored, as it was told.
  func forgetUnproven(_ item: KeptItem) throws(StoreError) -> Bool {
    guard try isUnproven(item), let sequence = item.sequence else { return false }
    try file.deleteUnproven(item.lane, sequence)
    return try file.ending(item.id) != nil
  }

  /// Ends an item as the relay has told it, without a signature.
  func endUnproven(_ item: KeptItem) throws(StoreError) {
    guard let told = try file.ending(item.id) else {
      return try end(item, .unknown, error: .forgottenByRelay)
    }
    try end(
      item, told.kind, response: told.response, error: told.error, attempts: told.attempts)
  }

  /// Ends what waits for a signature in lanes that keep no evidence any more.
  func releaseUnproven(at now: Moment) throws(StoreError) {
    for lane in state.custody.proofs.keys.sorted()
    where !settings.wantsEvidence(of: name(of: lane)) {
      let numbers = try file.unproven(of: lane, above: 0, countMax: CoreLimits.expiredPerStep)
      for number in numbers.map({ UInt64(clamping: $0) }) {
        if let item = try file.item(lane, sequence: number) { try endUnproven(item) }
        try file.deleteUnproven(lane, number)
      }
      if numbers.count < CoreLimits.expiredPerStep {
        state.custody.proofs[lane] = nil
      } else {
        noteDue(now.monotonicMs + 1)
      }
    }
  }

  // MARK: - Asking

  /// The question for the next ends that are to be signed; nil if none is due.
  func nextProof(at now: Moment) throws(StoreError) -> OutgoingExchange? {
    for (lane, proof) in state.custody.proofs.sorted(by: { $0.key < $1.key }) {
      if let until = proof.pausedUntil, until > now.monotonicMs {
        noteDue(until)
        continue
      }
      if let numbers = try nextNumbers(of: lane, at: now) { return ask(lane, numbers) }
    }
    return nil
  }

  /// The numbers of a lane that are asked about next; nil if this round is over.
  private func nextNumbers(
    of lane: LaneNumber, at now: Moment
  ) throws(StoreError) -> ClosedRange<Int64>? {
    var proof = state.custody.proofs[lane] ?? Proof()
    proof.pausedUntil = nil
    proof.isRefused = false
    let numbers = try file.unproven(
      of: lane, above: proof.cursor, countMax: SignedLedgerPage.rowsMax)
    if let lowest = numbers.first, let highest = numbers.last {
      state.custody.proofs[lane] = proof
      // Pages follow on each other, so that an auditor misses none.
      let next = max(proof.cursor, try file.lastOnPages(of: lane) ?? lowest) + 1
      return min(next, lowest)...highest
    }
    proof.endRound()
    let isOver = try file.unproven(of: lane, above: 0, countMax: 1).isEmpty
    state.custody.proofs[lane] = isOver ? nil : proof
    if !isOver { pauseProof(of: lane, at: now) }
    return nil
  }

  private func pauseProof(of lane: LaneNumber, at now: Moment) {
    let until = now.monotonicMs + CoreLimits.proofPauseMs
    state.custody.proofs[lane]?.pausedUntil = until
    state.custody.proofs[lane]?.cursor = 0
    noteDue(until)
  }

  private func ask(_ lane: LaneNumber, _ numbers: ClosedRange<Int64>) -> OutgoingExchange {
    begin(
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
      guard problem.status == 404 else { return limited(problem.words, afterMs: nil, at: now) }
      state.sender.answered()
      return refuse(lane, .noLedger, at: now)
    }
    guard let page = SignedLedgerPage(response.body) else {
      return notReachable(.notTheRelay, at: now)
    }
    state.sender.answered()
    switch verdict(on: page, of: lane, numbers, at: now) {
    case .askKeys(let key):
      state.custody.proofs[lane]?.keyAsks += 1
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
    var isOfUse = page.signature.last > (try file.lastOnPages(of: lane) ?? 0)
    for entry in page.entries {
      guard let ending = entry.ending,
        let item = try file.item(lane, sequence: UInt64(clamping: entry.number)), item.isHanded
      else { continue }
      isOfUse = true
      switch try compare(item, with: entry) {
      case .same: try endSigned(item, ending)
      case .different: doubt(lane, .ledgerDiffers(UInt64(clamping: entry.number)))
      case .unreadable: continue
      }
    }
    if isOfUse, page.signature.numbers != nil { try file.insert(page, of: lane) }
    // Behind the last of its rows a page says nothing; without rows there are none at all.
    let last = page.entries.isEmpty ? numbers.upperBound : page.signature.last
    let missing = try file.unproven(
      of: lane, above: numbers.lowerBound - 1, countMax: SignedLedgerPage.rowsMax
    ).first { $0 <= last && page.entry(of: $0) == nil }
    if let missing { doubt(lane, .notInLedger(UInt64(clamping: missing))) }
    state.custody.proofs[lane]?.cursor = last
  }

  private enum Comparison {
    case same, different, unreadable
  }

  /// Holds a row against what was sent.
  ///
  /// Of an item whose content is gone nothing can be compared: its copy went before the lane kept
  /// evidence.
  private func compare(
    _ item: KeptItem, with entry: LedgerEntry
  ) throws(StoreError) -> Comparison {
    let content: (request: KeptRequest, body: KeptBody)?
    do throws(StoreError) { content = try self.content(of: item) } catch {
      guard error.kind == .corrupt else { throw error }
      content = nil
    }
    guard let (request, body) = content else { return .same }
    guard let ours = digest(of: item, request, body) else { return .unreadable }
    return ours == entry.digest ? .same : .different
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
    if let told = try file.ending(item.id), told.kind == kind { return try endUnproven(item) }
    let error = kind == .refused ? RecordedError.upstream(status: ending.status) : nil
    try end(item, kind, error: error)
  }

  // MARK: - What does not hold

  /// Nothing that the relay signs of a lane can be taken: it is asked again later.
  private func refuse(_ lane: LaneNumber, _ fault: CustodyFault, at now: Moment) {
    doubt(lane, fault)
    state.custody.proofs[lane]?.endRound()
    state.custody.proofs[lane]?.isRefused = true
    pauseProof(of: lane, at: now)
  }

  /// Tells once of what stands: of the first fault of a round.
  private func doubt(_ lane: LaneNumber, _ fault: CustodyFault) {
    guard let proof = state.custody.proofs[lane], proof.found == nil else { return }
    state.custody.proofs[lane]?.found = fault
    guard proof.fault != fault else { return }
    state.custody.proofs[lane]?.fault = fault
    tell(.custodyBroken(Lane(name(of: lane)), fault))
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
    let page = try file.ledgerPages(of: lane, number...number).last {
      $0.entry(of: number)?.ending != nil
    }
    let entry = page?.entry(of: number)
    var ours: [UInt8]?
    if let item, let (request, body) = try content(of: item) {
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

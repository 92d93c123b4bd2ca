import RelayCore
import SQLite

// Posts, carried out as `AppendRules` plans them: one at a time, so that what is asked for the next
// one is read from the rows of those before it.
extension Writer {
  /// Stores a batch, as far as it can be taken.
  ///
  /// - Returns: One result per draft; positions are filled in once the observer has told them.
  func apply(
    _ append: PendingAppend, into receipt: inout Receipt
  ) throws(StoreError) -> [AppendResult] {
    if append.isAtomic,
      let refusal = try AppendRules.refusal(ofAtomic: append.drafts, facts: self)
    {
      return refusal
    }
    var results: [AppendResult] = []
    results.reserveCapacity(append.drafts.count)
    for draft in append.drafts {
      let plan = try AppendRules.plan(
        draft, now: clock(), random: random.next(), facts: self)
      switch plan {
      case .answer(let result): results.append(result)
      case .replace(let plan):
        try carryOut(plan, of: draft, into: &receipt)
        results.append(plan.result)
      case .void(let plan):
        try carryOut(plan, of: draft)
        results.append(.void)
        try flow(behind: plan.lane.number, into: &receipt)
      case .insert(let plan):
        let draft = plan.stored(draft)
        try carryOut(plan, of: draft)
        if let numbering = plan.numbering, numbering.isParked {
          receipt.parked.append(
            ParkedResult(
              append: receipt.appends.count, result: results.count,
              serial: plan.entry.serial, lane: plan.entry.lane, number: numbering.number))
        }
        results.append(plan.result(position: receipt.accepted.count))
        receipt.accepted.append(AcceptedEnvelope(entry: plan.entry, id: plan.id, draft: draft))
        try flow(behind: plan.entry.lane, into: &receipt)
      }
    }
    return results
  }

  /// Goes on in a lane at once, if something may be put in line there.
  @inline(__always)
  private func flow(
    behind lane: LaneNumber, into receipt: inout Receipt
  ) throws(StoreError) {
    guard !state.flowing.isEmpty, state.flowing.contains(lane), movesLeft > 0 else { return }
    try flow(lane, into: &receipt)
  }

  /// Says of what was parked in this transaction what it waits for, or, if it has moved to its
  /// place already, where it stands.
  func nameMissing(in receipt: inout Receipt) throws(StoreError) {
    var missing: [LaneNumber: MissingNumbers] = [:]
    for parked in receipt.parked {
      let result = receipt.appends[parked.append].results[parked.result]
      guard case .parked(let id, _) = result else { continue }
      if let place = receipt.moved[parked.serial] {
        receipt.appends[parked.append].results[parked.result] = .accepted(
          id: id, state: receipt.accepted[place].entry.standing.state, position: place)
        continue
      }
      // Not `??`, whose right side cannot throw a StoreError.
      let known = missing[parked.lane]
      let all = if let known { known } else { try readableMissing(in: parked.lane) }
      missing[parked.lane] = all
      receipt.appends[parked.append].results[parked.result] = .parked(
        id: id, missing: all.before(parked.number))
    }
  }

  /// The numbers that a lane waits for; none if they cannot be read in a damaged store.
  private func readableMissing(in lane: LaneNumber) throws(StoreError) -> MissingNumbers {
    guard !exceptions.unknownMissing.contains(lane) else { return .none }
    return try part(.missing(lane)) { () throws(StoreError) in try missing(in: lane) }
  }

  // MARK: - Writing

  private func carryOut(_ plan: InsertPlan, of draft: EnvelopeDraft) throws(StoreError) {
    let entry = plan.entry
    if plan.isNewClient { try makeClient(draft.client, entry.client) }
    let name = LaneName(client: draft.client, lane: draft.lane)
    if plan.isNewLane { try makeLane(name, entry.lane, of: entry.client) }
    if let numbering = plan.numbering {
      try number(numbering, in: entry.lane)
      if !numbering.isParked {
        let came = draft.knownDigest.map { LinkedEnvelope(serial: entry.serial, digest: $0) }
        try link(numbering.number, came, in: entry.lane, name)
      }
    }
    if plan.isNewLane || plan.numbering != nil {
      lanes.insert(
        KnownLane(
          client: entry.client, number: entry.lane, lastSequence: plan.numbering?.highest),
        for: name)
    }
    let bytes = draft.content.byteCount
    try insertEnvelope(draft, id: plan.id, entry: entry)
    try insertLine(entry, bytes: bytes, refers: draft.references)
    if let number = draft.sequence { try gaps.insertNumber.run(entry.lane, number, entry.serial) }
    if let key = draft.key { try sql.insertKey.run(entry.client, key, entry.serial) }
    try indexForCoalescing(draft, entry)
    try noteForSearch(entry.serial, client: entry.client.rawValue, tag: draft.tag)
    state.ledger.lastSerial = entry.serial
    noteTime(entry.acceptedAt)
    state.ledger.add(1, standing: entry.standing)
    state.use[entry.client, default: WaitingUse()] += WaitingUse(count: 1, bytes: bytes)
    log(EventEntry(accepted: entry))
  }

  private func carryOut(_ plan: VoidPlan, of draft: EnvelopeDraft) throws(StoreError) {
    let name = LaneName(client: draft.client, lane: draft.lane)
    var lane = plan.lane
    if plan.isNewClient { try makeClient(draft.client, lane.client) }
    if plan.isNewLane { try makeLane(name, lane.number, of: lane.client) }
    try number(plan.numbering, in: lane.number)
    lane.lastSequence = plan.numbering.highest
    lanes.insert(lane, for: name)
    let number = plan.numbering.number
    if !plan.numbering.isParked {
      try pass(SequenceRange(first: number, last: number), in: lane.number, name)
    }
    log(EventEntry(.gapSkipped, lane: lane.number, numbers: [number, number]))
  }

  private func number(_ plan: NumberPlan, in lane: LaneNumber) throws(StoreError) {
    if let error = exceptions.unnumbered[lane] { throw error }
    state.sequences[lane] = plan.highest
    try carryOut(plan, in: lane)
  }

  /// The clock has shown this time.
  func noteTime(_ time: WallTime) {
    state.ledger.latestTime = max(state.ledger.latestTime, time.millisecondsSinceEpoch)
  }

  private func insertEnvelope(
    _ draft: EnvelopeDraft, id: EnvelopeID, entry: LineEntry
  ) throws(StoreError) {
    let content = draft.content
    sql.insertEnvelope.set(
      entry.serial, id, entry.client, entry.lane, entry.upstream, draft.key, draft.fingerprint,
      draft.sequence, draft.tag, draft.hold, draft.notBefore, draft.expiresAt, draft.onFailure,
      content.method, content.target, content.headers.bytes)
    sql.insertEnvelope.bind(18, draft.references)
    sql.insertEnvelope.bind(19, draft.coalesce)
    sql.insertEnvelope.bind(
      20,
      content.checksum(
        of: id, client: entry.client, lane: entry.lane, upstream: entry.upstream, key: draft.key,
        references: draft.references))
    sql.insertEnvelope.bind(21, draft.knownDigest)
    switch content.body {
    case .inline(let bytes): try sql.insertEnvelope.runBorrowing(17, bytes)
    case .file(let file):
      sql.insertEnvelope.bindNull(17)
      try sql.insertEnvelope.run()
      try insertBodyFile(file, serial: entry.serial)
    }
    state.ledger.contentBytes += content.byteCount
  }

  func insertBodyFile(_ file: StoredBodyFile, serial: Serial) throws(StoreError) {
    let name = BodyFiles.name(of: file)
    try sql.insertBodyFile.run(serial, name, file.byteCount, file.checksum)
    try uploads.complete(file: name, as: serial)
    state.ledger.fileBytes += file.byteCount
  }

  private func insertLine(
    _ entry: LineEntry, bytes: Int64, refers: Bool
  ) throws(StoreError) {
    try sql.insertLine.run(
      entry.serial, entry.client, entry.lane, entry.upstream, entry.acceptedAt, entry.expiresAt,
      entry.standing, entry.onFailure, entry.dueAt, bytes, refers)
  }
}

import RelayCore

extension Writer {
  /// What an atomic batch says of keys and sequence numbers before any of it is stored.
  private struct BatchMemory {
    private struct KeyName: Hashable {
      let client: String
      let key: String
    }

    private var fingerprints: [KeyName: [UInt8]] = [:]
    private struct NumberName: Hashable {
      let lane: LaneName
      let number: Int64
    }

    private struct Said: Equatable {
      let fingerprint: [UInt8]
      let key: String?
    }

    private var numbers: [NumberName: Said] = [:]
    /// What would become known by it.
    var names = NewNames()

    /// Notes a draft; tells if an earlier one of the batch stands in its way.
    mutating func refusal(of draft: EnvelopeDraft) -> AppendResult? {
      if let key = draft.key {
        let name = KeyName(client: draft.client, key: key)
        if let first = fingerprints[name] {
          return first == draft.fingerprint ? nil : .keyConflict(id: nil)
        }
        fingerprints[name] = draft.fingerprint
      }
      guard let sequence = draft.sequence else { return nil }
      let lane = LaneName(client: draft.client, lane: draft.lane)
      let name = NumberName(lane: lane, number: sequence)
      let said = Said(fingerprint: draft.fingerprint, key: draft.key)
      if let first = numbers[name], first != said { return .sequenceConflict(id: nil) }
      numbers[name] = said
      return nil
    }
  }

  /// What is to be done with a draft.
  private enum Verdict {
    /// Store it, in this lane if the lane is known already.
    case take(Lane?)
    /// Answer so.
    case answer(AppendResult)
  }

  /// Stores a batch, as far as it can be taken.
  ///
  /// - Returns: One result per draft; positions are filled in once the observer has told them.
  func apply(
    _ append: PendingAppend, into receipt: inout Receipt
  ) throws(StoreError) -> [AppendResult] {
    if append.isAtomic, let refusal = try refusal(of: append.drafts) { return refusal }
    var results: [AppendResult] = []
    results.reserveCapacity(append.drafts.count)
    for draft in append.drafts {
      switch try verdict(on: draft) {
      case .answer(let result): results.append(result)
      case .take(let lane):
        if lane == nil, let refusal = try refusal(ofLaneOf: draft) {
          results.append(.overQuota(refusal))
          continue
        }
        if let coalesced = try coalesce(draft, in: lane, into: &receipt) {
          results.append(coalesced)
          continue
        }
        let accepted = try insert(draft, lane: lane)
        if accepted.entry.standing == .parked, let number = draft.sequence {
          receipt.parked.append(
            ParkedResult(
              append: receipt.appends.count, result: results.count,
              serial: accepted.entry.serial, lane: accepted.entry.lane, number: number))
          results.append(.parked(id: accepted.id, missing: .none))
        } else {
          results.append(
            .accepted(
              id: accepted.id, state: accepted.entry.standing.state,
              position: receipt.accepted.count))
        }
        receipt.accepted.append(accepted)
        if !state.flowing.isEmpty, state.flowing.contains(accepted.entry.lane), movesLeft > 0 {
          try flow(accepted.entry.lane, into: &receipt)
        }
      }
    }
    return results
  }

  private func verdict(on draft: EnvelopeDraft) throws(StoreError) -> Verdict {
    if let key = draft.key, let answer = try answer(toKey: key, of: draft) {
      return .answer(answer)
    }
    let lane = try knownLane(LaneName(client: draft.client, lane: draft.lane))
    if let number = draft.sequence, let lane, let highest = lane.lastSequence,
      let answer = try answer(toNumber: number, of: draft, in: lane.number, highest: highest)
    {
      return .answer(answer)
    }
    return .take(lane)
  }

  private func refusal(ofLaneOf draft: EnvelopeDraft) throws(StoreError) -> QuotaRefusal? {
    var planned = NewNames()
    return try refusal(ofLaneOf: draft, besides: &planned)
  }

  private func refusal(
    ofLaneOf draft: EnvelopeDraft, besides planned: inout NewNames
  ) throws(StoreError) -> QuotaRefusal? {
    try refusal(
      ofNew: LaneName(client: draft.client, lane: draft.lane), besides: &planned)
  }

  /// The answer to a key that was posted before; nil if it was not.
  private func answer(
    toKey key: String, of draft: EnvelopeDraft
  ) throws(StoreError) -> AppendResult? {
    guard let client = try knownClient(draft.client) else { return nil }
    sql.findKey.bind(1, client.rawValue)
    sql.findKey.bind(2, key)
    guard try sql.findKey.step() else { return nil }
    let serial = sql.findKey.int(0)
    let ownFingerprint = sql.findKey.isNull(1) ? nil : sql.findKey.bytes(1)
    sql.findKey.reset()
    sql.findIdentity.bind(1, serial)
    guard try sql.findIdentity.step() else { throw .invalidRow("a key without its envelope") }
    defer { sql.findIdentity.reset() }
    let id = try EnvelopeID(stored: sql.findIdentity.bytes(0))
    let fingerprint = ownFingerprint ?? sql.findIdentity.bytes(1)
    guard fingerprint == draft.fingerprint else { return .keyConflict(id: id) }
    return .duplicate(id: id, state: try presentState(of: serial))
  }

  func presentState(of serial: Serial) throws(StoreError) -> EnvelopeState {
    sql.findStanding.bind(1, serial)
    if try sql.findStanding.step() {
      defer { sql.findStanding.reset() }
      return try Standing(code: sql.findStanding.int(0)).state
    }
    sql.findEnd.bind(1, serial)
    guard try sql.findEnd.step() else { throw .invalidRow("an envelope without a state") }
    defer { sql.findEnd.reset() }
    return try EnvelopeState(endCode: sql.findEnd.int(0))
  }

  /// Looks whether all of an atomic batch can be taken, before anything of it is written.
  ///
  /// - Returns: nil if it can; else what to answer.
  private func refusal(of drafts: [EnvelopeDraft]) throws(StoreError) -> [AppendResult]? {
    var isRefused = false
    var seen = BatchMemory()
    let results = try drafts.map { draft throws(StoreError) -> AppendResult in
      let result: AppendResult
      switch try verdict(on: draft) {
      case .answer(let answer): result = answer
      case .take(let lane):
        let lack =
          if lane == nil { try refusal(ofLaneOf: draft, besides: &seen.names) } else {
            nil as QuotaRefusal?
          }
        result = seen.refusal(of: draft) ?? lack.map { .overQuota($0) } ?? .leftOut
      }
      switch result {
      case .keyConflict, .sequenceConflict, .sequencePassed, .overQuota: isRefused = true
      case .accepted, .parked, .coalesced, .duplicate, .forgotten, .leftOut: break
      }
      return result
    }
    return isRefused ? results : nil
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

  /// What a lane waits for; nothing, as far as anybody can tell, where the store is damaged.
  private func readableMissing(in lane: LaneNumber) throws(StoreError) -> MissingNumbers {
    guard !exceptions.unknownMissing.contains(lane) else { return .none }
    return try part(.missing(lane)) { () throws(StoreError) in try missing(in: lane) }
  }

  // MARK: - Writing

  private func insert(
    _ draft: EnvelopeDraft, lane known: Lane?
  ) throws(StoreError) -> AcceptedEnvelope {
    let lane = try remember(draft, lane: known)
    var standing: Standing = draft.hold ? .held : .queued
    if let number = draft.sequence,
      try note(number: number, in: lane.number, highest: known?.lastSequence ?? 0)
    {
      standing = .parked
    }
    let upstream = try upstreamNumber(draft.upstream)
    let serial = state.ledger.lastSerial + 1
    let time = acceptanceTime()
    let entry = LineEntry(
      serial: serial, client: lane.client, lane: lane.number, upstream: upstream,
      acceptedAt: time, expiresAt: draft.expiresAt, standing: standing,
      onFailure: draft.onFailure, dueAt: draft.notBefore)
    let bytes = draft.content.byteCount
    let id = EnvelopeID(serial: serial, acceptedAt: time, random: random.next())
    try insertEnvelope(draft, id: id, entry: entry)
    try insertLine(entry, bytes: bytes, refers: draft.references)
    if let number = draft.sequence { try insertNumber(number, of: serial, in: lane.number) }
    if let key = draft.key { try insertKey(key, of: lane.client, serial) }
    try indexForCoalescing(draft, entry)
    try noteForSearch(serial, client: lane.client.rawValue, tag: draft.tag)
    state.ledger.lastSerial = serial
    noteTime(time)
    state.ledger.add(1, standing: entry.standing)
    state.use[entry.client, default: WaitingUse()] += WaitingUse(count: 1, bytes: bytes)
    log(EventEntry(accepted: entry))
    return AcceptedEnvelope(entry: entry, id: id, draft: draft)
  }

  /// When what is being accepted is so.
  ///
  /// The time in an id does not go back for a clock that is being adjusted, as RFC 9562 section 6.2
  /// has it; one that was set back is followed, or ids would stand still until it has caught up.
  /// Neither makes two ids alike: the serial sees to that.
  private func acceptanceTime() -> WallTime {
    let time = clock()
    let latest = WallTime(millisecondsSinceEpoch: state.ledger.latestTime)
    let isAdjusted = latest > time && latest.milliseconds(since: time) <= StoreTuning.timeHeldMs
    return isAdjusted ? latest : time
  }

  /// The clock has shown this time.
  func noteTime(_ time: WallTime) {
    state.ledger.latestTime = max(state.ledger.latestTime, time.millisecondsSinceEpoch)
  }

  func insertKey(
    _ key: String, of client: ClientNumber, _ serial: Serial
  ) throws(StoreError) {
    sql.insertKey.bind(1, client.rawValue)
    sql.insertKey.bind(2, key)
    sql.insertKey.bind(3, serial)
    try sql.insertKey.run()
  }

  private func insertEnvelope(
    _ draft: EnvelopeDraft, id: EnvelopeID, entry: LineEntry
  ) throws(StoreError) {
    let content = draft.content
    sql.insertEnvelope.bind(1, entry.serial)
    sql.insertEnvelope.bind(2, id.bytes)
    sql.insertEnvelope.bind(3, entry.client.rawValue)
    sql.insertEnvelope.bind(4, entry.lane.rawValue)
    sql.insertEnvelope.bind(5, Int64(entry.upstream.rawValue))
    sql.insertEnvelope.bind(6, draft.key)
    sql.insertEnvelope.bind(7, draft.fingerprint)
    sql.insertEnvelope.bind(8, draft.sequence)
    sql.insertEnvelope.bind(9, draft.tag)
    sql.insertEnvelope.bind(10, draft.hold ? 1 : 0)
    sql.insertEnvelope.bind(11, draft.notBefore?.millisecondsSinceEpoch)
    sql.insertEnvelope.bind(12, draft.expiresAt.millisecondsSinceEpoch)
    sql.insertEnvelope.bind(13, draft.onFailure.code)
    sql.insertEnvelope.bind(14, content.method)
    sql.insertEnvelope.bind(15, content.target)
    sql.insertEnvelope.bind(16, content.headers.bytes)
    sql.insertEnvelope.bind(18, draft.references ? 1 : 0)
    sql.insertEnvelope.bind(19, draft.coalesce)
    sql.insertEnvelope.bind(
      20,
      content.checksum(
        of: id, client: entry.client, lane: entry.lane, upstream: entry.upstream, key: draft.key,
        references: draft.references))
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
    sql.insertBodyFile.bind(1, serial)
    sql.insertBodyFile.bind(2, BodyFiles.name(of: file))
    sql.insertBodyFile.bind(3, file.byteCount)
    sql.insertBodyFile.bind(4, file.checksum)
    try sql.insertBodyFile.run()
    state.ledger.fileBytes += file.byteCount
  }

  private func insertLine(
    _ entry: LineEntry, bytes: Int64, refers: Bool
  ) throws(StoreError) {
    sql.insertLine.bind(1, entry.serial)
    sql.insertLine.bind(2, entry.client.rawValue)
    sql.insertLine.bind(3, entry.lane.rawValue)
    sql.insertLine.bind(4, Int64(entry.upstream.rawValue))
    sql.insertLine.bind(5, entry.acceptedAt.millisecondsSinceEpoch)
    sql.insertLine.bind(6, entry.expiresAt.millisecondsSinceEpoch)
    sql.insertLine.bind(7, Int64(entry.standing.rawValue))
    sql.insertLine.bind(8, entry.onFailure.code)
    sql.insertLine.bind(9, entry.dueAt?.millisecondsSinceEpoch)
    sql.insertLine.bind(10, bytes)
    sql.insertLine.bind(11, refers ? 1 : 0)
    try sql.insertLine.run()
  }
}

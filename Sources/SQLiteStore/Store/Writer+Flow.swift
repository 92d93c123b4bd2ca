import RelayCore

// How what was parked gets into line once nothing is missing before it. It moves to the end of the
// line, under a new number, in the order of its sequence numbers: so the order of the line is the
// order of delivery, as everywhere else. A transaction moves so many at the most, so that a long
// queue behind a gap keeps no post waiting; the next one goes on.
extension Writer {
  /// Finds the lanes in which a process that was killed may have left something to be moved.
  func resumeFlow() throws(StoreError) {
    while try gaps.parkedLanes.step() {
      state.flowing.insert(LaneNumber(rawValue: gaps.parkedLanes.int(0)))
    }
  }

  /// Whether something can be moved now: not while the store has trouble with writing.
  var canFlow: Bool {
    !state.flowing.isEmpty && !recovery.hasFailed && recovery.lackOfRoom == nil
  }

  /// Goes on in the lanes in which something is to be moved, as far as this transaction may.
  func flow(into receipt: inout Receipt) throws(StoreError) {
    while movesLeft > 0, let lane = state.flowing.popFirst() {
      try flow(lane, into: &receipt)
    }
  }

  /// Has what cannot be put in line shown, and why it stands.
  func setApartUnmovable() throws(StoreError) {
    for serial in exceptions.unmovable.subtracting(exceptions.leftUnmarked) {
      try part(.setApart(serial)) { () throws(StoreError) in
        try quarantine(serial, at: clock(), reason: Self.unmovableReason)
        gaps.noteReason.bind(1, Self.unmovableReason)
        gaps.noteReason.bind(2, serial)
        try gaps.noteReason.run()
      }
    }
  }

  private static let unmovableReason = "quarantined: it cannot be put in line, as it cannot be read"

  /// Puts in line what of a lane waits for nothing any more, as far as this transaction may; a lane
  /// in which that meets damage stands, up to where it has come, and leaves all others alone.
  func flow(_ lane: LaneNumber, into receipt: inout Receipt) throws(StoreError) {
    state.flowing.remove(lane)
    guard !exceptions.lanes.contains(lane) else { return }
    try part(.flow(lane, nil)) { () throws(StoreError) in
      try placeParked(of: lane, into: &receipt)
    }
  }

  private func placeParked(
    of lane: LaneNumber, into receipt: inout Receipt
  ) throws(StoreError) {
    movesLeft -= 1
    guard let start = try placedThrough(lane) else { return }
    let highest = try highest(in: lane)
    var placed = start
    steps: while placed < highest {
      guard movesLeft > 0 else {
        state.flowing.insert(lane)
        break
      }
      let number = placed + 1
      let next = try serial(ofNumber: number, in: lane)
      let gap = next == nil ? try gap(around: number, in: lane) : nil
      switch PlacingRules.step(serial: next, gap: gap) {
      case .move(let serial):
        if !state.unmovable.contains(serial) {
          try move(serial, number: number, of: lane, into: &receipt)
        } else if try waits(serial) {
          // It goes on once somebody has given it up, or its deadline has passed.
          break steps
        }
        placed = number
        movesLeft -= 1
      case .pass(let through): placed = through
      case .wait: break steps
      }
    }
    if placed >= highest {
      gaps.deleteParkedLane.bind(1, lane.rawValue)
      try gaps.deleteParkedLane.run()
    } else if placed > start {
      try setPlacedThrough(placed, of: lane)
    }
  }

  /// Gives up the missing numbers of a lane below a number.
  func skipGaps(
    of lane: LaneNumber, below number: Int64
  ) throws(StoreError) -> [SequenceRange] {
    guard let placed = try placedThrough(lane) else { return [] }
    var skipped: [SequenceRange] = []
    gaps.openGaps.bind(1, lane.rawValue)
    gaps.openGaps.bind(2, placed)
    gaps.openGaps.bind(3, -1)
    while try gaps.openGaps.step(), gaps.openGaps.int(0) < number {
      skipped.append(SequenceRange(first: gaps.openGaps.int(0), last: gaps.openGaps.int(1)))
    }
    gaps.openGaps.reset()
    gaps.skipGaps.bind(1, lane.rawValue)
    gaps.skipGaps.bind(2, placed)
    gaps.skipGaps.bind(3, number)
    try gaps.skipGaps.run()
    for range in skipped {
      log(
        EventEntry(.gapSkipped, lane: lane, numbers: [range.first, range.last]))
    }
    state.flowing.insert(lane)
    return skipped
  }

  // MARK: - Moving

  private func waits(_ serial: Serial) throws(StoreError) -> Bool {
    sql.findStanding.bind(1, serial)
    defer { sql.findStanding.reset() }
    return try sql.findStanding.step()
  }

  private func move(
    _ old: Serial, number: Int64, of lane: LaneNumber, into receipt: inout Receipt
  ) throws(StoreError) {
    exceptions.step = .flow(lane, old)
    try releaseFromQuarantine(old)
    guard let envelope = try moveEnvelope(old) else {
      // It ended while it was parked, and is kept no longer.
      return try forgetPlaced(number, of: lane)
    }
    let new = state.ledger.lastSerial
    gaps.moveNumber.bind(1, new)
    gaps.moveNumber.bind(2, lane.rawValue)
    gaps.moveNumber.bind(3, number)
    try gaps.moveNumber.run()
    gaps.insertMoved.bind(1, old)
    gaps.insertMoved.bind(2, new)
    try gaps.insertMoved.run()
    guard let entry = try moveLine(old, standing: envelope.standing) else {
      return try moveEnded(old, client: envelope.client)
    }
    log(
      EventEntry(
        .placed, serial: new, lane: lane, upstream: entry.upstream, standing: entry.standing))
    receipt.moved[old] = receipt.accepted.count
    receipt.accepted.append(AcceptedEnvelope(entry: entry, id: envelope.id, movedFrom: old))
  }

  /// An envelope that ended while it was parked moves as well, since it may be requeued.
  private func moveEnded(_ old: Serial, client: Int64) throws(StoreError) {
    let new = state.ledger.lastSerial
    gaps.moveEnded.bind(1, new)
    gaps.moveEnded.bind(2, old)
    guard try gaps.moveEnded.step() else { throw .invalidRow("an envelope without a state") }
    let ending = gaps.moveEnded.optionalInt(0)
    gaps.moveEnded.reset()
    guard let ending else { return }
    gaps.moveEnding.bind(1, new)
    gaps.moveEnding.bind(2, client)
    gaps.moveEnding.bind(3, ending)
    try gaps.moveEnding.run()
  }

  private func forgetPlaced(_ number: Int64, of lane: LaneNumber) throws(StoreError) {
    gaps.deleteNumber.bind(1, lane.rawValue)
    gaps.deleteNumber.bind(2, number)
    try gaps.deleteNumber.run()
  }

  /// Gives an envelope the next number, with its key and its body; nil if there is none.
  private func moveEnvelope(
    _ old: Serial
  ) throws(StoreError) -> (id: EnvelopeID, client: Int64, standing: Standing)? {
    let new = state.ledger.lastSerial + 1
    gaps.moveEnvelope.bind(1, new)
    gaps.moveEnvelope.bind(2, old)
    guard try gaps.moveEnvelope.step() else { return nil }
    state.ledger.lastSerial = new
    let id = try EnvelopeID(stored: gaps.moveEnvelope.bytes(0))
    let client = gaps.moveEnvelope.int(1)
    let key = gaps.moveEnvelope.text(2)
    let standing: Standing = gaps.moveEnvelope.int(3) != 0 ? .held : .queued
    let hasBodyFile = gaps.moveEnvelope.int(4) != 0
    let tag = gaps.moveEnvelope.text(5)
    gaps.moveEnvelope.reset()
    try noteForSearch(new, client: client, tag: tag)
    if let key {
      gaps.moveKey.bind(1, new)
      gaps.moveKey.bind(2, client)
      gaps.moveKey.bind(3, key)
      try gaps.moveKey.run()
    }
    if hasBodyFile {
      gaps.moveBodyFile.bind(1, new)
      gaps.moveBodyFile.bind(2, old)
      try gaps.moveBodyFile.run()
    }
    return (id, client, standing)
  }

  /// Gives a place in the line the number that was given out last; nil if there is no such place.
  private func moveLine(_ old: Serial, standing: Standing) throws(StoreError) -> LineEntry? {
    gaps.parked.bind(1, old)
    guard try gaps.parked.step() else { return nil }
    let entry = LineEntry(
      serial: state.ledger.lastSerial, client: ClientNumber(rawValue: gaps.parked.int(0)),
      lane: LaneNumber(rawValue: gaps.parked.int(1)),
      upstream: UpstreamNumber(rawValue: Int32(truncatingIfNeeded: gaps.parked.int(2))),
      acceptedAt: WallTime(millisecondsSinceEpoch: gaps.parked.int(3)),
      expiresAt: WallTime(millisecondsSinceEpoch: gaps.parked.int(4)), standing: standing,
      onFailure: FailurePolicy(code: gaps.parked.int(5)),
      dueAt: WallTime(gaps.parked.optionalInt(6)),
      attempts: Int32(truncatingIfNeeded: gaps.parked.int(7)))
    gaps.parked.reset()
    gaps.moveLine.bind(1, entry.serial)
    gaps.moveLine.bind(2, Int64(standing.rawValue))
    gaps.moveLine.bind(3, old)
    try gaps.moveLine.run()
    state.ledger.add(-1, standing: .parked)
    state.ledger.add(1, standing: standing)
    return entry
  }
}

import RelayCore
import SQLite

// How what was parked gets into line once nothing is missing before it. It moves to the end of the
// line, under a new number, in the order of its sequence numbers: so the order of the line is the
// order of delivery, as everywhere else. A transaction moves so many at the most, so that a long
// queue behind a gap keeps no post waiting; the next one goes on.
extension Writer {
  /// Finds the lanes in which a process that was killed may have left something to be moved.
  func resumeFlow() throws(StoreError) {
    while try gaps.parkedLanes.step() {
      state.flowing.insert(gaps.parkedLanes.lane(0))
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
        try gaps.noteReason.run(Self.unmovableReason, serial)
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
          let new = try move(serial, number: number, of: lane, into: &receipt)
          try link(parked: new, number, in: lane)
        } else if try sql.findStanding.hasRow(serial) {
          // It goes on once somebody has given it up, or its deadline has passed.
          break steps
        } else {
          try link(parked: nil, number, in: lane)
        }
        placed = number
        movesLeft -= 1
      case .pass(let through):
        try pass(SequenceRange(first: number, last: through), in: lane)
        placed = through
      case .wait: break steps
      }
    }
    if placed >= highest {
      try gaps.deleteParkedLane.run(lane)
    } else if placed > start {
      try gaps.setPlacedThrough.run(lane, placed)
    }
  }

  /// Gives up the missing numbers of a lane below a number.
  func skipGaps(
    of lane: LaneNumber, below number: Int64
  ) throws(StoreError) -> [SequenceRange] {
    guard let placed = try placedThrough(lane) else { return [] }
    var skipped: [SequenceRange] = []
    gaps.openGaps.set(lane, placed, -1)
    while try gaps.openGaps.step(), gaps.openGaps.int(0) < number {
      skipped.append(SequenceRange(gaps.openGaps))
    }
    gaps.openGaps.reset()
    try gaps.skipGaps.run(lane, placed, number)
    for range in skipped {
      log(
        EventEntry(.gapSkipped, lane: lane, numbers: [range.first, range.last]))
    }
    state.flowing.insert(lane)
    return skipped
  }

  // MARK: - Moving

  /// Moves one; returns its new number, nil if it is not on record any more.
  private func move(
    _ old: Serial, number: Int64, of lane: LaneNumber, into receipt: inout Receipt
  ) throws(StoreError) -> Serial? {
    exceptions.step = .flow(lane, old)
    try releaseFromQuarantine(old)
    guard let envelope = try moveEnvelope(old) else {
      // It ended while it was parked, and is kept no longer.
      try gaps.deleteNumber.run(lane, number)
      return nil
    }
    let new = state.ledger.lastSerial
    try gaps.moveNumber.run(new, lane, number)
    try gaps.insertMoved.run(old, new)
    guard let entry = try moveLine(old, standing: envelope.standing) else {
      try moveEnded(old, client: envelope.client)
      return new
    }
    log(EventEntry(placed: entry))
    receipt.moved[old] = receipt.accepted.count
    receipt.accepted.append(AcceptedEnvelope(entry: entry, id: envelope.id, movedFrom: old))
    return new
  }

  /// An envelope that ended while it was parked moves as well, since it may be requeued.
  private func moveEnded(_ old: Serial, client: Int64) throws(StoreError) {
    let new = state.ledger.lastSerial
    let ending = try gaps.moveEnded.one(new, old, or: "an envelope without a state") {
      $0.optionalInt(0)
    }
    if let ending { try gaps.moveEnding.run(new, client, ending) }
  }

  /// Gives an envelope the next number, with its key and its body; nil if there is none.
  private func moveEnvelope(
    _ old: Serial
  ) throws(StoreError) -> (id: EnvelopeID, client: Int64, standing: Standing)? {
    let new = state.ledger.lastSerial + 1
    gaps.moveEnvelope.set(new, old)
    guard try gaps.moveEnvelope.step() else { return nil }
    state.ledger.lastSerial = new
    let id = try gaps.moveEnvelope.id(0)
    let client = gaps.moveEnvelope.int(1)
    let key = gaps.moveEnvelope.text(2)
    let standing: Standing = gaps.moveEnvelope.bool(3) ? .held : .queued
    let hasBodyFile = gaps.moveEnvelope.text(4) == "null"
    let tag = gaps.moveEnvelope.text(5)
    gaps.moveEnvelope.reset()
    try noteForSearch(new, client: client, tag: tag)
    if let key {
      try gaps.moveKey.run(new, client, key)
    }
    if hasBodyFile {
      try gaps.moveBodyFile.run(new, old)
    }
    return (id, client, standing)
  }

  /// Gives a place in the line the number that was given out last; nil if there is no such place.
  private func moveLine(_ old: Serial, standing: Standing) throws(StoreError) -> LineEntry? {
    let moved = try gaps.parked.first(old) { row in
      LineEntry(
        serial: state.ledger.lastSerial, client: row.client(0), lane: row.lane(1),
        upstream: row.upstream(2), acceptedAt: row.time(3), expiresAt: row.time(4),
        standing: standing, onFailure: row.failurePolicy(5), dueAt: row.optionalTime(6),
        attempts: row.int32(7))
    }
    guard let entry = moved else { return nil }
    try gaps.moveLine.run(entry.serial, standing, old)
    state.ledger.add(-1, standing: .parked)
    state.ledger.add(1, standing: standing)
    return entry
  }
}

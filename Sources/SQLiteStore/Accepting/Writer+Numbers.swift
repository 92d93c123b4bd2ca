import RelayCore

// What a lane knows of its sequence numbers: which came, which are waited for, and which nobody
// waits for any more. In a lane without gaps that is one row of an index for each number, and the
// lane's own last number.
extension Writer {
  /// The answer to a number that is not above all others of its lane; nil if the lane waits for it.
  ///
  /// - Parameter highest: The greatest number that the lane has taken.
  func answer(
    toNumber number: Int64, of draft: EnvelopeDraft, in lane: LaneNumber, highest: Int64
  ) throws(StoreError) -> AppendResult? {
    guard number <= highest else { return nil }
    if let serial = try serial(ofNumber: number, in: lane) {
      return try answer(ofEnvelope: serial, to: draft)
    }
    guard let gap = try gap(around: number, in: lane) else { return .forgotten }
    guard gap.isSkipped else { return nil }
    return .sequencePassed(last: try contiguous(in: lane, highest: highest))
  }

  private func answer(
    ofEnvelope serial: Serial, to draft: EnvelopeDraft
  ) throws(StoreError) -> AppendResult {
    sql.findIdentity.bind(1, serial)
    // One that ended while it was parked, and was not kept any longer.
    guard try sql.findIdentity.step() else { return .forgotten }
    let id = try EnvelopeID(stored: sql.findIdentity.bytes(0))
    let fingerprint = sql.findIdentity.bytes(1)
    let key = sql.findIdentity.text(2)
    sql.findIdentity.reset()
    guard fingerprint == draft.fingerprint, key == draft.key else {
      return .sequenceConflict(id: id)
    }
    return .duplicate(id: id, state: try presentState(of: serial))
  }

  /// The number of the envelope that came under a sequence number.
  func serial(ofNumber number: Int64, in lane: LaneNumber) throws(StoreError) -> Serial? {
    gaps.findNumber.bind(1, lane.rawValue)
    gaps.findNumber.bind(2, number)
    guard try gaps.findNumber.step() else { return nil }
    defer { gaps.findNumber.reset() }
    return gaps.findNumber.int(0)
  }

  /// The stretch of missing numbers that a number is in.
  func gap(
    around number: Int64, in lane: LaneNumber
  ) throws(StoreError) -> (range: SequenceRange, isSkipped: Bool)? {
    gaps.findGap.bind(1, lane.rawValue)
    gaps.findGap.bind(2, number)
    guard try gaps.findGap.step() else { return nil }
    defer { gaps.findGap.reset() }
    guard gaps.findGap.int(1) >= number else { return nil }
    return (
      SequenceRange(first: gaps.findGap.int(0), last: gaps.findGap.int(1)),
      gaps.findGap.int(2) != 0
    )
  }

  /// The number up to which what came stands in line; nil if everything does.
  func placedThrough(_ lane: LaneNumber) throws(StoreError) -> Int64? {
    gaps.placedThrough.bind(1, lane.rawValue)
    guard try gaps.placedThrough.step() else { return nil }
    defer { gaps.placedThrough.reset() }
    return gaps.placedThrough.int(0)
  }

  /// The greatest number that a lane has taken, this transaction included; 0 if it took none.
  func highest(in lane: LaneNumber) throws(StoreError) -> Int64 {
    if let number = state.sequences[lane] { return number }
    gaps.highest.bind(1, lane.rawValue)
    guard try gaps.highest.step() else { throw .invalidRow("a place in no lane") }
    defer { gaps.highest.reset() }
    return gaps.highest.int(0)
  }

  /// What a lane waits for.
  func missing(in lane: LaneNumber) throws(StoreError) -> MissingNumbers {
    guard let placed = try placedThrough(lane) else { return .none }
    return try MissingNumbers(reading: gaps.openGaps, lane: lane.rawValue, behind: placed)
  }

  private func contiguous(in lane: LaneNumber, highest: Int64) throws(StoreError) -> Int64 {
    try missing(in: lane).ranges.first.map { $0.first - 1 } ?? highest
  }

  /// Notes the number of an envelope that is being taken.
  ///
  /// - Parameter highest: The greatest number that the lane has taken so far.
  /// - Returns: Whether the envelope is parked: something is missing before it, or is only just
  ///   being put in line.
  func note(
    number: Int64, in lane: LaneNumber, highest: Int64
  ) throws(StoreError) -> Bool {
    let placed = try placedThrough(lane)
    if number > highest + 1 {
      try insertGap(SequenceRange(first: highest + 1, last: number - 1), in: lane)
    } else if number <= highest {
      try takeOutOfGap(number, in: lane)
    }
    guard number == (placed ?? highest) + 1 else {
      if placed == nil { try setPlacedThrough(highest, of: lane) }
      return true
    }
    if placed != nil {
      try setPlacedThrough(number, of: lane)
      state.flowing.insert(lane)
    }
    return false
  }

  private func insertGap(_ range: SequenceRange, in lane: LaneNumber) throws(StoreError) {
    gaps.insertGap.bind(1, lane.rawValue)
    gaps.insertGap.bind(2, range.first)
    gaps.insertGap.bind(3, range.last)
    try gaps.insertGap.run()
  }

  private func takeOutOfGap(_ number: Int64, in lane: LaneNumber) throws(StoreError) {
    guard let (range, _) = try gap(around: number, in: lane) else {
      throw .invalidRow("a number that is neither there nor missing")
    }
    if number == range.first {
      gaps.deleteGap.bind(1, lane.rawValue)
      gaps.deleteGap.bind(2, range.first)
      try gaps.deleteGap.run()
    } else {
      gaps.endGap.bind(1, number - 1)
      gaps.endGap.bind(2, lane.rawValue)
      gaps.endGap.bind(3, range.first)
      try gaps.endGap.run()
    }
    if number < range.last {
      try insertGap(SequenceRange(first: number + 1, last: range.last), in: lane)
    }
  }

  /// Notes under which number an envelope came.
  func insertNumber(
    _ number: Int64, of serial: Serial, in lane: LaneNumber
  ) throws(StoreError) {
    gaps.insertNumber.bind(1, lane.rawValue)
    gaps.insertNumber.bind(2, number)
    gaps.insertNumber.bind(3, serial)
    try gaps.insertNumber.run()
  }

  func setPlacedThrough(_ number: Int64, of lane: LaneNumber) throws(StoreError) {
    gaps.setPlacedThrough.bind(1, lane.rawValue)
    gaps.setPlacedThrough.bind(2, number)
    try gaps.setPlacedThrough.run()
  }

  /// An envelope is deleted for good: its number stands for nothing any more.
  ///
  /// The number of one that ended while it was parked goes on saying that it came, until the lane
  /// has come so far.
  func forgetNumber(_ number: Int64, of lane: LaneNumber) throws(StoreError) {
    if let placed = try placedThrough(lane), number > placed { return }
    gaps.deleteNumber.bind(1, lane.rawValue)
    gaps.deleteNumber.bind(2, number)
    try gaps.deleteNumber.run()
  }
}

extension MissingNumbers {
  /// Reads what a lane waits for.
  ///
  /// - Parameter statement: ``GapStatements/openGapsSQL``.
  init(
    reading statement: borrowing Statement, lane: Int64, behind placed: Int64
  ) throws(StoreError) {
    statement.bind(1, lane)
    statement.bind(2, placed)
    statement.bind(3, Int64(StoreLimits.missingRangesMax + 1))
    var ranges: [SequenceRange] = []
    while try statement.step() {
      ranges.append(SequenceRange(first: statement.int(0), last: statement.int(1)))
    }
    let hasMore = ranges.count > StoreLimits.missingRangesMax
    if hasMore { ranges.removeLast() }
    self.init(ranges: ranges, hasMore: hasMore)
  }
}

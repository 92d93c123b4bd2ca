import RelayCore

// What a lane knows of its sequence numbers: which came, which are waited for, and which nobody
// waits for any more. In a lane without gaps that is one row of an index for each number, and the
// lane's own last number.
extension Writer {
  /// The number of the envelope that came under a sequence number.
  func serial(ofNumber number: Int64, in lane: LaneNumber) throws(StoreError) -> Serial? {
    gaps.findNumber.bind(1, lane.rawValue)
    gaps.findNumber.bind(2, number)
    guard try gaps.findNumber.step() else { return nil }
    defer { gaps.findNumber.reset() }
    return gaps.findNumber.int(0)
  }

  /// The envelope that a lane has taken under a sequence number.
  func holder(ofNumber number: Int64, in lane: LaneNumber) throws(StoreError) -> NumberHolder {
    guard let serial = try serial(ofNumber: number, in: lane) else { return .nobody }
    sql.findIdentity.bind(1, serial)
    // One that ended while it was parked, and was not kept any longer.
    guard try sql.findIdentity.step() else { return .forgotten }
    let id = try EnvelopeID(stored: sql.findIdentity.bytes(0))
    let fingerprint = sql.findIdentity.bytes(1)
    let key = sql.findIdentity.text(2)
    sql.findIdentity.reset()
    return .post(
      StoredPost(
        id: id, fingerprint: fingerprint, key: key, state: try presentState(of: serial)))
  }

  /// The gap that a sequence number lies in.
  func gap(around number: Int64, in lane: LaneNumber) throws(StoreError) -> SequenceGap? {
    gaps.findGap.bind(1, lane.rawValue)
    gaps.findGap.bind(2, number)
    guard try gaps.findGap.step() else { return nil }
    defer { gaps.findGap.reset() }
    guard gaps.findGap.int(1) >= number else { return nil }
    return SequenceGap(
      SequenceRange(first: gaps.findGap.int(0), last: gaps.findGap.int(1)),
      isSkipped: gaps.findGap.int(2) != 0)
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

  /// The numbers that a lane waits for.
  func missing(in lane: LaneNumber) throws(StoreError) -> MissingNumbers {
    guard let placed = try placedThrough(lane) else { return .none }
    return try MissingNumbers(reading: gaps.openGaps, lane: lane.rawValue, behind: placed)
  }

  /// The lowest number that a lane waits for.
  func firstMissing(in lane: LaneNumber) throws(StoreError) -> Int64? {
    try missing(in: lane).ranges.first?.first
  }

  /// Writes what the number of an envelope changes in its lane.
  func carryOut(_ plan: NumberPlan, in lane: LaneNumber) throws(StoreError) {
    if let closed = plan.closed { try cut(closed, to: plan.lowerGap, in: lane) }
    if let gap = plan.upperGap { try insertGap(gap, in: lane) }
    if let placed = plan.placedThrough { try setPlacedThrough(placed, of: lane) }
    if plan.mayFlow { state.flowing.insert(lane) }
  }

  private func cut(
    _ gap: SequenceRange, to rest: SequenceRange?, in lane: LaneNumber
  ) throws(StoreError) {
    guard let rest else {
      gaps.deleteGap.bind(1, lane.rawValue)
      gaps.deleteGap.bind(2, gap.first)
      return try gaps.deleteGap.run()
    }
    gaps.endGap.bind(1, rest.last)
    gaps.endGap.bind(2, lane.rawValue)
    gaps.endGap.bind(3, gap.first)
    try gaps.endGap.run()
  }

  private func insertGap(_ range: SequenceRange, in lane: LaneNumber) throws(StoreError) {
    gaps.insertGap.bind(1, lane.rawValue)
    gaps.insertGap.bind(2, range.first)
    gaps.insertGap.bind(3, range.last)
    try gaps.insertGap.run()
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

  /// Forgets the number of an envelope that is deleted for good, unless it has still to say that
  /// it came.
  func forgetNumber(_ number: Int64, of lane: LaneNumber) throws(StoreError) {
    guard RetentionRules.forgetsNumber(number, placedThrough: try placedThrough(lane)) else {
      return
    }
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

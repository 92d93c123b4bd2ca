import RelayCore
import SQLite

// What a lane knows of its sequence numbers: which came, which are waited for, and which nobody
// waits for any more. In a lane without gaps that is one row of an index for each number, and the
// lane's own last number.
extension Writer {
  /// The number of the envelope that came under a sequence number.
  func serial(ofNumber number: Int64, in lane: LaneNumber) throws(StoreError) -> Serial? {
    try gaps.findNumber.first(lane, number) { $0.int(0) }
  }

  /// The envelope that a lane has taken under a sequence number.
  func holder(ofNumber number: Int64, in lane: LaneNumber) throws(StoreError) -> NumberHolder {
    guard let serial = try serial(ofNumber: number, in: lane) else { return .nobody }
    // One that ended while it was parked, and was not kept any longer, is forgotten.
    return try post(serial).map { .post($0) } ?? .forgotten
  }

  /// The gap that a sequence number lies in.
  func gap(around number: Int64, in lane: LaneNumber) throws(StoreError) -> SequenceGap? {
    let gap = try gaps.findGap.first(lane, number) { row in
      SequenceGap(SequenceRange(row), isSkipped: row.bool(2))
    }
    guard let gap, gap.range.last >= number else { return nil }
    return gap
  }

  /// The number up to which what came stands in line; nil if everything does.
  func placedThrough(_ lane: LaneNumber) throws(StoreError) -> Int64? {
    try gaps.placedThrough.first(lane) { $0.int(0) }
  }

  /// The greatest number that a lane has taken, this transaction included; 0 if it took none.
  func highest(in lane: LaneNumber) throws(StoreError) -> Int64 {
    if let number = state.sequences[lane] { return number }
    return try gaps.highest.one(lane, or: "a place in no lane") { $0.int(0) }
  }

  /// The numbers that a lane waits for.
  func missing(in lane: LaneNumber) throws(StoreError) -> MissingNumbers {
    guard let placed = try placedThrough(lane) else { return .none }
    return try gaps.openGaps.missing(in: lane, behind: placed)
  }

  /// The lowest number that a lane waits for.
  func firstMissing(in lane: LaneNumber) throws(StoreError) -> Int64? {
    try missing(in: lane).ranges.first?.first
  }

  /// Writes what the number of an envelope changes in its lane.
  func carryOut(_ plan: NumberPlan, in lane: LaneNumber) throws(StoreError) {
    if let closed = plan.closed { try cut(closed, to: plan.lowerGap, in: lane) }
    if let gap = plan.upperGap { try gaps.insertGap.run(lane, gap.first, gap.last) }
    if plan.isVoid { try gaps.insertVoid.run(lane, plan.number) }
    if let placed = plan.placedThrough { try gaps.setPlacedThrough.run(lane, placed) }
    if plan.skipsBelow { _ = try skipGaps(of: lane, below: plan.number) }
    if plan.mayFlow { state.flowing.insert(lane) }
  }

  private func cut(
    _ gap: SequenceRange, to rest: SequenceRange?, in lane: LaneNumber
  ) throws(StoreError) {
    guard let rest else {
      return try gaps.deleteGap.run(lane, gap.first)
    }
    try gaps.endGap.run(rest.last, lane, gap.first)
  }

  /// Forgets the number of an envelope that is deleted for good, unless it has still to say that
  /// it came.
  func forgetNumber(_ number: Int64, of lane: LaneNumber) throws(StoreError) {
    if RetentionRules.forgetsNumber(number, placedThrough: try placedThrough(lane)) {
      try gaps.deleteNumber.run(lane, number)
    }
  }
}

extension Statement {
  /// What a lane waits for; of ``GapStatements/openGapsSQL``.
  fileprivate func missing(
    in lane: LaneNumber, behind placed: Int64
  ) throws(StoreError) -> MissingNumbers {
    let page = try page(
      lane, placed, countMax: StoreLimits.missingRangesMax, read: SequenceRange.init(_:))
    return MissingNumbers(ranges: page.rows, hasMore: page.hasMore)
  }
}

extension SequenceRange {
  /// The range in the first two columns of the present row.
  init(_ row: borrowing Statement) { self.init(first: row.int(0), last: row.int(1)) }
}

extension Reader {
  /// The number under which an envelope is stored; nil if there is no envelope of this id, or no
  /// longer.
  ///
  /// It is the one in its id, or, once it was parked and has moved, another one. This is the one
  /// place where an id is turned into a number of the store's.
  func serial(of id: EnvelopeID) throws(StoreError) -> Serial? {
    let serial = try present(id.serial)
    guard try identity(of: serial) == id else { return nil }
    return serial
  }

  /// The number that stands for this one now.
  func present(_ serial: Serial) throws(StoreError) -> Serial {
    try numbers.moved.first(serial) { $0.int(0) } ?? serial
  }

  /// The id of an envelope; of one that cannot be read, the one under which it is quarantined.
  func identity(of serial: Serial) throws(StoreError) -> EnvelopeID? {
    do throws(StoreError) {
      let id = try sql.identity.first(serial) { row throws(StoreError) in try row.id(0) }
      if let id { return id }
    } catch {
      guard error.kind == .corrupt, let id = try quarantinedID(of: serial) else { throw error }
      return id
    }
    return try quarantinedID(of: serial)
  }

  /// The number up to which what came of a lane stands in line; nil if everything does.
  func placedThrough(_ lane: LaneNumber) throws(StoreError) -> Int64? {
    try numbers.placedThrough.first(lane) { $0.int(0) }
  }

  /// The numbers that a lane waits for.
  func missing(in lane: LaneNumber) throws(StoreError) -> MissingNumbers {
    guard let placed = try placedThrough(lane) else { return .none }
    return try numbers.openGaps.missing(in: lane, behind: placed)
  }

  /// The latest numbers of a lane that did not come and are taken no longer, in order.
  func skipped(in lane: LaneNumber) throws(StoreError) -> [SequenceRange] {
    try numbers.skippedGaps.rows(lane, StoreLimits.missingRangesMax, read: SequenceRange.init(_:))
      .reversed()
  }

  /// The envelopes of a lane that have been parked since a time or longer.
  ///
  /// - Returns: The greatest of the numbers, nil if there is none; and when the one that has waited
  ///   longest of those behind it was accepted.
  func parked(
    in lane: LaneNumber, by time: WallTime, now: WallTime
  ) throws(StoreError) -> (number: Int64?, waitingSince: WallTime?) {
    try snapshot { () throws(StoreError) -> (number: Int64?, waitingSince: WallTime?) in
      guard let placed = try placedThrough(lane) else { return (nil, nil) }
      let future = now.adding(milliseconds: AppendRules.timeHeldMs)
      let number = try numbers.dueThrough.first(lane, placed, time, future) { $0.optionalInt(0) }
      let behind = number.flatMap(\.self)
      let since = try numbers.waitingSince.first(lane, behind ?? placed) { $0.optionalTime(0) }
      return (behind, since.flatMap(\.self))
    }
  }
}

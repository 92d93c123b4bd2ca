import RelayCore

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
    numbers.moved.bind(1, serial)
    guard try numbers.moved.step() else { return serial }
    defer { numbers.moved.reset() }
    return numbers.moved.int(0)
  }

  /// The id of an envelope; of one that cannot be read, the one under which it is quarantined.
  func identity(of serial: Serial) throws(StoreError) -> EnvelopeID? {
    do throws(StoreError) {
      sql.identity.bind(1, serial)
      if try sql.identity.step() {
        defer { sql.identity.reset() }
        return try EnvelopeID(stored: sql.identity.bytes(0))
      }
    } catch {
      guard error.kind == .corrupt, let id = try quarantinedID(of: serial) else { throw error }
      return id
    }
    return try quarantinedID(of: serial)
  }

  /// The number up to which what came of a lane stands in line; nil if everything does.
  func placedThrough(_ lane: LaneNumber) throws(StoreError) -> Int64? {
    numbers.placedThrough.bind(1, lane.rawValue)
    guard try numbers.placedThrough.step() else { return nil }
    defer { numbers.placedThrough.reset() }
    return numbers.placedThrough.int(0)
  }

  /// The numbers that a lane waits for.
  func missing(in lane: LaneNumber) throws(StoreError) -> MissingNumbers {
    guard let placed = try placedThrough(lane) else { return .none }
    return try MissingNumbers(reading: numbers.openGaps, lane: lane.rawValue, behind: placed)
  }

  /// The latest numbers of a lane that did not come and are taken no longer, in order.
  func skipped(in lane: LaneNumber) throws(StoreError) -> [SequenceRange] {
    var ranges: [SequenceRange] = []
    numbers.skippedGaps.bind(1, lane.rawValue)
    numbers.skippedGaps.bind(2, Int64(StoreLimits.missingRangesMax))
    while try numbers.skippedGaps.step() {
      ranges.append(
        SequenceRange(first: numbers.skippedGaps.int(0), last: numbers.skippedGaps.int(1)))
    }
    return ranges.reversed()
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
      numbers.dueThrough.bind(1, lane.rawValue)
      numbers.dueThrough.bind(2, placed)
      numbers.dueThrough.bind(3, time.millisecondsSinceEpoch)
      let future = now.adding(milliseconds: AppendRules.timeHeldMs)
      numbers.dueThrough.bind(4, future.millisecondsSinceEpoch)
      let number = try first(of: numbers.dueThrough)
      numbers.waitingSince.bind(1, lane.rawValue)
      numbers.waitingSince.bind(2, number ?? placed)
      return (number, WallTime(try first(of: numbers.waitingSince)))
    }
  }

  private func first(of statement: borrowing Statement) throws(StoreError) -> Int64? {
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return statement.optionalInt(0)
  }
}

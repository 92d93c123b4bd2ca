import RelayCore

/// A store in memory that keeps only what was committed, as a disk does.
struct SimulatedStore {
  struct Record {
    var entry: LineEntry
    /// The keys of all its contents, the latest last.
    var keys: [Int]
    /// The latest content.
    var content: Int
    var number: Int64?
    var isHeld = false
    var notBefore: WallTime?
    var end: (state: EnvelopeState, reason: String)?
    /// Where it is now, once it was parked and has moved.
    var movedTo: Serial?
  }

  private(set) var records: [Record] = []
  private var byKey: [KeyOfClient: Serial] = [:]
  private(set) var line: [Serial] = []
  /// The last envelope of each name under which later posts take its place.
  private var byName: [NameInLane: Serial] = [:]
  private(set) var pauses: Set<PauseTarget> = []
  var numbers: [LaneNumber: SimulatedNumbers] = [:]
  private var lanesStartedPaused: Set<LaneNumber> = []

  struct KeyOfClient: Hashable {
    var client: ClientNumber
    var key: Int
  }

  struct NameInLane: Hashable {
    var lane: LaneNumber
    var name: Int
  }

  /// The envelope that was posted under a key.
  func serial(of key: Int, _ client: ClientNumber) -> Serial? {
    byKey[KeyOfClient(client: client, key: key)]
  }

  /// The last envelope of a name, if it waits.
  func waiting(_ name: Int, in lane: LaneNumber) -> Serial? {
    guard let serial = byName[NameInLane(lane: lane, name: name)], self[serial].end == nil else {
      return nil
    }
    return serial
  }

  /// Commits another content for an envelope that waits.
  mutating func replace(_ entry: LineEntry, key: Int, content: Int, notBefore: WallTime?) {
    let index = Int(entry.serial) - 1
    records[index].entry = entry
    records[index].keys.append(key)
    records[index].content = content
    records[index].notBefore = notBefore
    byKey[KeyOfClient(client: entry.client, key: key)] = entry.serial
  }

  subscript(serial: Serial) -> Record { records[Int(serial) - 1] }

  /// Commits an envelope, unless its key was committed before, or its lane is past its number.
  ///
  /// - Returns: nil if the lane is past its number.
  mutating func append(
    _ entry: LineEntry, key: Int, content: Int, number: Int64? = nil, name: Int? = nil
  ) -> (Serial, isNew: Bool)? {
    let owner = KeyOfClient(client: entry.client, key: key)
    if let serial = byKey[owner] { return (serial, false) }
    if let number, numbers[entry.lane]?.skipped.contains(number) == true { return nil }
    let serial = Serial(records.count + 1)
    var entry = entry
    entry.serial = serial
    let isHeld = entry.standing == .held
    if let number, note(number, of: serial, in: entry.lane) { entry.standing = .parked }
    records.append(
      Record(
        entry: entry, keys: [key], content: content, number: number, isHeld: isHeld,
        notBefore: entry.dueAt))
    byKey[owner] = serial
    if let name { byName[NameInLane(lane: entry.lane, name: name)] = serial }
    line.append(serial)
    return (serial, true)
  }

  /// Moves what was parked to the end of the line.
  ///
  /// - Returns: Its place; nil if it has ended.
  mutating func move(_ serial: Serial, number: Int64) -> LineEntry? {
    var record = self[serial]
    record.entry.serial = Serial(records.count + 1)
    record.entry.standing = record.isHeld ? .held : .queued
    records[Int(serial) - 1].movedTo = record.entry.serial
    numbers[record.entry.lane]?.taken[number] = record.entry.serial
    for key in record.keys {
      byKey[KeyOfClient(client: record.entry.client, key: key)] = record.entry.serial
    }
    records.append(record)
    line.removeAll { $0 == serial }
    guard record.end == nil else { return nil }
    line.append(record.entry.serial)
    return record.entry
  }

  /// The number that stands for this one now.
  func present(_ serial: Serial) -> Serial { self[serial].movedTo ?? serial }

  /// Commits that a lane is known from now on, and paused.
  ///
  /// - Returns: false if it was known before.
  mutating func startPaused(_ lane: LaneNumber) -> Bool {
    guard lanesStartedPaused.insert(lane).inserted else { return false }
    pauses.insert(.lane(lane))
    return true
  }

  /// Commits a pause, or its end.
  mutating func setPaused(_ isPaused: Bool, _ target: PauseTarget) {
    if isPaused { pauses.insert(target) } else { pauses.remove(target) }
  }

  /// Commits a change; one to an envelope that no longer waits, or not there, is moot.
  mutating func commit(_ transition: inout Transition) {
    let index = Int(transition.serial) - 1
    if case .requeue(let entry) = transition.change {
      guard let entry = requeue(entry) else { return transition.isMoot = true }
      return transition.change = .requeue(entry)
    }
    guard records[index].end == nil, records[index].movedTo == nil else {
      return transition.isMoot = true
    }
    switch transition.change {
    case .begin:
      records[index].entry.isInDoubt = true
    case .retry(let time):
      records[index].entry.dueAt = time
      records[index].entry.isInDoubt = transition.doubt != nil
    case .block:
      records[index].entry.standing = .blocked
      records[index].entry.isInDoubt = false
    case .end(let state, let reason):
      records[index].end = (state, reason)
      records[index].entry.isInDoubt = transition.leavesDoubt(records[index].entry.isInDoubt)
      line.removeAll { $0 == transition.serial }
    case .release:
      records[index].entry.standing = .queued
      records[index].entry.dueAt = nil
    case .edit(let edit):
      records[index].entry = edit.entry
      records[index].isHeld = edit.hold
      records[index].notBefore = edit.notBefore
    case .requeue:
      break
    }
    if let attempt = transition.attempt { records[index].entry.attempts = attempt.number }
  }

  /// What was delivered, or waits already, is not put back in line.
  private mutating func requeue(_ entry: LineEntry) -> LineEntry? {
    let index = Int(entry.serial) - 1
    guard let end = records[index].end, end.state != .delivered, records[index].movedTo == nil
    else { return nil }
    var entry = entry
    if let number = records[index].number, let known = numbers[entry.lane],
      number > known.placed
    {
      entry.standing = .parked
    }
    records[index].end = nil
    records[index].entry = entry
    line.insert(entry.serial, at: line.firstIndex { $0 > entry.serial } ?? line.endIndex)
    return entry
  }

  func page(before serial: Serial, countMax: Int) -> LinePage {
    let behind = line.reversed().drop { $0 >= serial }
    let entries = behind.prefix(countMax).map { self[$0].entry }
    let hasMore = behind.count > countMax
    return LinePage(
      entries: entries, scannedThrough: hasMore ? (entries.last?.serial ?? serial) : 0,
      hasMore: hasMore)
  }

  func page(after serial: Serial, countMax: Int) -> LinePage {
    let behind = line.drop { $0 <= serial }
    let entries = behind.prefix(countMax).map { self[$0].entry }
    let hasMore = behind.count > countMax
    return LinePage(
      entries: entries,
      scannedThrough: hasMore ? (entries.last?.serial ?? serial) : Serial(records.count),
      hasMore: hasMore)
  }
}

import RelayCore

/// A store in memory that keeps only what was committed, as a disk does.
struct SimulatedStore {
  struct Record {
    var entry: LineEntry
    var key: Int
    var content: Int
    var end: (state: EnvelopeState, reason: String)?
  }

  private(set) var records: [Record] = []
  private var byKey: [KeyOfClient: Serial] = [:]
  private(set) var line: [Serial] = []
  private(set) var pauses: Set<PauseTarget> = []

  struct KeyOfClient: Hashable {
    var client: ClientNumber
    var key: Int
  }

  subscript(serial: Serial) -> Record { records[Int(serial) - 1] }

  /// Commits an envelope, unless its key was committed before.
  mutating func append(_ entry: LineEntry, key: Int, content: Int) -> (Serial, isNew: Bool) {
    let name = KeyOfClient(client: entry.client, key: key)
    if let serial = byKey[name] { return (serial, false) }
    let serial = Serial(records.count + 1)
    var entry = entry
    entry.serial = serial
    records.append(Record(entry: entry, key: key, content: content, end: nil))
    byKey[name] = serial
    line.append(serial)
    return (serial, true)
  }

  /// Commits a pause, or its end.
  mutating func setPaused(_ isPaused: Bool, _ target: PauseTarget) {
    if isPaused { pauses.insert(target) } else { pauses.remove(target) }
  }

  /// Commits a change; one to an envelope that no longer waits is passed over.
  mutating func commit(_ transition: Transition) {
    let index = Int(transition.serial) - 1
    if case .requeue(let entry) = transition.change { return requeue(entry) }
    guard records[index].end == nil else { return }
    switch transition.change {
    case .retry(let time):
      records[index].entry.dueAt = time
    case .block:
      records[index].entry.standing = .blocked
    case .end(let state, let reason):
      records[index].end = (state, reason)
      line.removeAll { $0 == transition.serial }
    case .release:
      records[index].entry.standing = .queued
      records[index].entry.dueAt = nil
    case .edit(let edit):
      records[index].entry = edit.entry
    case .requeue:
      break
    }
    if let attempt = transition.attempt { records[index].entry.attempts = attempt.number }
  }

  /// What was delivered, or waits already, is not put back in line.
  private mutating func requeue(_ entry: LineEntry) {
    let index = Int(entry.serial) - 1
    guard let end = records[index].end, end.state != .delivered else { return }
    records[index].end = nil
    records[index].entry = entry
    line.insert(entry.serial, at: line.firstIndex { $0 > entry.serial } ?? line.endIndex)
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

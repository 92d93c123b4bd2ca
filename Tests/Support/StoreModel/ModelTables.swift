import RelayCore

/// The tables of a store, in memory.
struct ModelTables {
  /// An envelope.
  struct Envelope {
    var id: EnvelopeID
    /// The post, with the content and terms that it has now.
    var draft: EnvelopeDraft
    var revision: Int64 = 0
    /// The keys of former contents, by the revision that they came with.
    var formerKeys: [Int64: String] = [:]
    /// Its place in the line, or the one that it had.
    var entry: LineEntry
    var reason: String?
    var end: End?
    var attemptCount: Int64 = 0
    var attempts: [AttemptRecord] = []
    var response: UpstreamResponse?
  }

  /// How an envelope ended.
  struct End {
    var state: EnvelopeState
    var at: WallTime
    var reason: String?
    var attempt: AttemptRecord?
    var isInDoubt: Bool
  }

  /// A client's key.
  struct Key {
    var serial: Serial
    /// The fingerprint that came with it, if the content has been replaced since.
    var fingerprint: [UInt8]?
  }

  /// What was posted under a key whose envelope is forgotten.
  struct Remembered {
    var endedAt: WallTime
    var digest: [UInt8]
  }

  /// A lane.
  struct Lane {
    let name: LaneName
    let client: ClientNumber
    var lastSequence: Int64?
    var placedThrough: Int64?
    /// In order.
    var gaps: [SequenceGap] = []
    var numbers: [Int64: Serial] = [:]
    /// The last envelope of each name to coalesce by.
    var names: [String: Serial] = [:]
    var ended: [EnvelopeState: Int] = [:]
  }

  private static let ends: [EnvelopeState] = [.delivered, .failed, .expired, .cancelled]

  var given = GivenNumbers()
  var clients: [String: ClientNumber] = [:]
  var laneNumbers: [LaneName: LaneNumber] = [:]
  var lanes: [LaneNumber: Lane] = [:]
  var upstreams: [String: UpstreamNumber] = [:]
  /// Upstreams that have been paused since they start so.
  var startedPaused: Set<UpstreamNumber> = []
  var pauses: Set<PauseTarget> = []
  /// Changed by ``put(_:)`` and ``remove(_:)`` alone, which keep the next two tables.
  private(set) var envelopes: [Serial: Envelope] = [:]
  /// The waiting envelopes' places, in order.
  private(set) var line: [LineEntry] = []
  /// The envelopes that have ended, in order.
  private(set) var ended: [Serial] = []
  /// The present numbers of envelopes that were parked and have moved.
  var moved: [Serial: Serial] = [:]
  var keys: [ClientNumber: [String: Key]] = [:]
  /// Keys whose envelopes are forgotten.
  var remembered: [AppendQuestions.Key: Remembered] = [:]

  /// Up to where retention has looked in its present round.
  var retentionCursor: Serial = 0
  /// What was refused last, in words.
  var trouble: String?

  // MARK: - Rows

  /// Writes an envelope's row, and its place: in the line, or among those that have ended.
  mutating func put(_ envelope: Envelope) {
    let serial = envelope.entry.serial
    let isNew = envelopes.updateValue(envelope, forKey: serial) == nil
    let place = isNew && serial > line.last?.serial ?? 0 ? line.count : linePlace(of: serial)
    let stands = place < line.count && line[place].serial == serial
    if envelope.end == nil {
      if stands { line[place] = envelope.entry } else { line.insert(envelope.entry, at: place) }
    } else if stands {
      line.remove(at: place)
    }
    let mark = ended.firstPlace { $0 >= serial }
    let isMarked = mark < ended.count && ended[mark] == serial
    if envelope.end == nil {
      if isMarked { ended.remove(at: mark) }
    } else if !isMarked {
      ended.insert(serial, at: mark)
    }
  }

  /// Removes an envelope's row, and its place.
  mutating func remove(_ serial: Serial) -> Envelope? {
    guard let envelope = envelopes.removeValue(forKey: serial) else { return nil }
    if envelope.end == nil {
      line.remove(at: linePlace(of: serial))
    } else {
      ended.remove(at: ended.firstPlace { $0 >= serial })
    }
    return envelope
  }

  private func linePlace(of serial: Serial) -> Int { line.firstPlace { $0.serial >= serial } }

  // MARK: - Looking

  /// The place of an envelope in the line; nil if it does not wait.
  func place(of serial: Serial) -> LineEntry? {
    let place = linePlace(of: serial)
    return place < line.count && line[place].serial == serial ? line[place] : nil
  }

  /// A stretch of the line, as ``EnvelopeStore`` reads it.
  func page(after serial: Serial, countMax: Int) -> LinePage {
    let entries = Array(line[linePlace(of: serial + 1)...].prefix(countMax))
    let isFull = entries.count == countMax
    return LinePage(
      entries: entries,
      scannedThrough: isFull ? entries.last?.serial ?? serial : max(serial, given.lastSerial),
      hasMore: isFull)
  }

  /// A stretch of the line backwards, as ``EnvelopeStore`` reads it.
  func page(before serial: Serial, countMax: Int) -> LinePage {
    let entries = Array(line[..<linePlace(of: serial)].suffix(countMax).reversed())
    let isFull = entries.count == countMax
    return LinePage(
      entries: entries, scannedThrough: isFull ? entries.last?.serial ?? 0 : 0, hasMore: isFull)
  }

  func serial(of id: EnvelopeID) -> Serial? {
    let serial = moved[id.serial] ?? id.serial
    return envelopes[serial]?.id == id ? serial : nil
  }

  func state(of envelope: Envelope) -> EnvelopeState {
    envelope.end?.state ?? envelope.entry.standing.state
  }

  /// What a lane waits for.
  func missing(in lane: LaneNumber) -> MissingNumbers {
    guard let lane = lanes[lane], let placed = lane.placedThrough else { return .none }
    let ranges = lane.gaps.filter { !$0.isSkipped && $0.range.first > placed }.map(\.range)
    let shown = Array(ranges.prefix(StoreLimits.missingRangesMax))
    return MissingNumbers(ranges: shown, hasMore: shown.count < ranges.count)
  }

  func client(_ name: String) -> ClientRecord? {
    guard let number = clients[name] else { return nil }
    let own = lanes.filter { $0.value.client == number }.sorted { $0.key < $1.key }
    return ClientRecord(
      number: number,
      lanes: own.map { number, lane in
        var record = LaneRecord(
          number: number, name: lane.name.lane, lastSequence: lane.lastSequence,
          ended: Self.ends.reduce(into: [:]) { $0[$1] = lane.ended[$1] ?? 0 })
        record.missing = missing(in: number)
        record.skipped = lane.gaps.filter(\.isSkipped).map(\.range)
          .suffix(StoreLimits.missingRangesMax)
        if let gap = record.missing.ranges.first {
          record.highestSequence = record.lastSequence
          record.lastSequence = gap.first - 1
        }
        return record
      })
  }

  func record(_ id: EnvelopeID) -> EnvelopeRecord? {
    guard let serial = serial(of: id), let envelope = envelopes[serial] else { return nil }
    let end = envelope.end
    var record = EnvelopeRecord(
      id: id, draft: envelope.draft, state: state(of: envelope), reason: envelope.reason,
      entry: envelope.entry, endedAt: end?.at,
      attemptCount: Int32(truncatingIfNeeded: envelope.attemptCount),
      attempts: envelope.attempts, responseStatus: envelope.response?.status)
    record.revision = envelope.revision
    if record.state == .parked, let number = envelope.draft.sequence {
      record.missing = missing(in: record.lane).before(number)
    }
    guard let end else { return record }
    record.reason = end.reason
    record.entry.standing = .queued
    record.entry.dueAt = nil
    record.entry.attempts = record.attemptCount
    record.entry.isInDoubt = end.isInDoubt
    if let attempt = end.attempt {
      record.attempts = (record.attempts + [attempt]).suffix(StoreLimits.attemptsKeptMax)
    }
    return record
  }

  var statistics: StoreStatistics {
    var counts: [EnvelopeState: Int64] = [:]
    for standing in Standing.allCases { counts[standing.state] = 0 }
    for end in Self.ends { counts[end] = 0 }
    for envelope in envelopes.values { counts[state(of: envelope), default: 0] += 1 }
    var statistics = StoreStatistics(
      envelopes: counts,
      contentBytes: envelopes.values.reduce(0) { $0 + $1.draft.content.byteCount },
      latestTime: given.latestTime.millisecondsSinceEpoch > 0 ? given.latestTime : nil)
    statistics.names = given.names
    statistics.trouble = trouble
    return statistics
  }
}

extension RandomAccessCollection where Index == Int {
  /// The place of the first element of which a condition holds that holds of all behind it as well;
  /// the end if there is none.
  func firstPlace(where condition: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if condition(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

import EventLoop
import RelayCore

/// Events on their way into the log, and the log's size.
///
/// A transaction lists its events, a dozen bytes each, and appends the list as one row: no index,
/// and one page for many. Only a long list is split into several rows, so that a reader that starts
/// in the middle of one has little to skip. Listeners are not known here.
struct EventLog {
  /// The size of a row beside its entries, roughly: its key and its other columns.
  static let rowOverheadBytes: Int64 = 24

  /// The bytes of entries after which a row takes no more.
  static let rowBytesMax = 16_384

  /// The present transaction's entries beyond ``fullRows``; see ``EventLog/Field`` for the format.
  private(set) var entries: [UInt8] = []
  /// The full rows of the present transaction.
  private(set) var fullRows: [[UInt8]] = []
  /// The number of the last row.
  var lastRow: Int64 = 0
  /// The bytes of all rows that ever were, the last one included.
  var bytesThrough: Int64 = 0
  /// The bytes of all deleted rows.
  var bytesForgotten: Int64 = 0

  /// Whether the transaction has logged nothing.
  var isEmpty: Bool { entries.isEmpty }

  /// The bytes of the log.
  var bytes: Int64 { bytesThrough - bytesForgotten }

  /// The position after the last row.
  var end: EventPosition { EventPosition(row: lastRow + 1, index: 0) }

  /// Lists an event.
  mutating func append(_ entry: EventEntry) {
    if entries.count >= Self.rowBytesMax {
      fullRows.append(entries)
      entries.removeAll(keepingCapacity: true)
    }
    entries.append(entry.kind.code)
    append(number: Int64(Field.present(in: entry).rawValue))
    if let serial = entry.serial { append(number: serial) }
    if let lane = entry.lane { append(number: lane.rawValue) }
    if let upstream = entry.upstream { append(number: Int64(upstream.rawValue)) }
    if let attempt = entry.attempt { append(number: Int64(attempt)) }
    if let status = entry.status { append(number: Int64(status)) }
    if let reason = entry.reason { append(text: reason) }
    if let client = entry.client { append(number: client.rawValue) }
    if let standing = entry.standing, standing != .queued {
      append(number: Int64(standing.rawValue))
    }
    if let dueAt = entry.dueAt { append(number: dueAt.millisecondsSinceEpoch) }
    if !entry.numbers.isEmpty {
      append(number: Int64(entry.numbers.count))
      for number in entry.numbers { append(number: number) }
    }
  }

  /// Removes and returns the rows that the transaction has to write.
  mutating func takeRows() -> [[UInt8]] {
    let rows = fullRows + [entries]
    fullRows = []
    entries = []
    return rows
  }

  private mutating func append(number: Int64) {
    entries.append(leastFirst: UInt64(bitPattern: number))
  }

  private mutating func append(text: String) {
    var text = text
    while text.utf8.count > EventLimits.reasonBytesMax { text.removeLast() }
    append(number: Int64(text.utf8.count))
    // Copied in one piece; `utf8` as a sequence is copied byte by byte.
    text.withUTF8 { entries.append(contentsOf: $0) }
  }

  /// The parts of an entry, in the order in which they follow its code and this set.
  struct Field: OptionSet {
    let rawValue: UInt16

    // The parts of common entries are in the first seven bits, which take one byte.
    static let serial = Field(rawValue: 1 << 0)
    static let lane = Field(rawValue: 1 << 1)
    static let upstream = Field(rawValue: 1 << 2)
    /// The envelope is queued; no bytes follow.
    static let isQueued = Field(rawValue: 1 << 3)
    static let attempt = Field(rawValue: 1 << 4)
    static let status = Field(rawValue: 1 << 5)
    /// The number of bytes of UTF-8, followed by these.
    static let reason = Field(rawValue: 1 << 6)
    static let client = Field(rawValue: 1 << 7)
    /// The envelope's standing, if it is not queued.
    static let standing = Field(rawValue: 1 << 8)
    static let dueAt = Field(rawValue: 1 << 9)
    /// The number of numbers, followed by these.
    static let numbers = Field(rawValue: 1 << 10)

    static func present(in entry: EventEntry) -> Field {
      var fields: Field = []
      if entry.serial != nil { fields.insert(.serial) }
      if entry.client != nil { fields.insert(.client) }
      if entry.lane != nil { fields.insert(.lane) }
      if entry.upstream != nil { fields.insert(.upstream) }
      if let standing = entry.standing {
        fields.insert(standing == .queued ? .isQueued : .standing)
      }
      if entry.attempt != nil { fields.insert(.attempt) }
      if entry.status != nil { fields.insert(.status) }
      if entry.dueAt != nil { fields.insert(.dueAt) }
      if !entry.numbers.isEmpty { fields.insert(.numbers) }
      if entry.reason != nil { fields.insert(.reason) }
      return fields
    }
  }
}

/// Reads the entries of one row of the event log, one after another.
struct EventEntries {
  private let bytes: [UInt8]
  private var place = 0
  /// The number of entries that have been read.
  private(set) var count = 0

  /// Reads a row from its beginning.
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether all entries have been read.
  var isAtEnd: Bool { place == bytes.count }

  /// The next entry; nil for one of a kind that this program does not know.
  ///
  /// - Precondition: not ``isAtEnd``.
  mutating func next() throws(StoreError) -> EventEntry? {
    let code = bytes[place]
    place += 1
    count += 1
    let fields = EventLog.Field(rawValue: UInt16(truncatingIfNeeded: try number()))
    var entry = EventEntry(EventKind(code: code) ?? .started)
    if fields.contains(.serial) { entry.serial = try number() }
    if fields.contains(.lane) { entry.lane = LaneNumber(rawValue: try number()) }
    if fields.contains(.upstream) {
      entry.upstream = UpstreamNumber(rawValue: Int32(truncatingIfNeeded: try number()))
    }
    if fields.contains(.isQueued) { entry.standing = .queued }
    if fields.contains(.attempt) { entry.attempt = Int32(truncatingIfNeeded: try number()) }
    if fields.contains(.status) { entry.status = Int(try number()) }
    if fields.contains(.reason) { entry.reason = try text() }
    if fields.contains(.client) { entry.client = ClientNumber(rawValue: try number()) }
    if fields.contains(.standing) { entry.standing = try Standing(code: try number()) }
    if fields.contains(.dueAt) { entry.dueAt = WallTime(millisecondsSinceEpoch: try number()) }
    if fields.contains(.numbers) {
      for _ in 0..<max(0, try number()) { entry.numbers.append(try number()) }
    }
    return EventKind(code: code) == nil ? nil : entry
  }

  private mutating func number() throws(StoreError) -> Int64 {
    var word: UInt64 = 0
    var shift: UInt64 = 0
    while place < bytes.count, shift < 64 {
      let byte = bytes[place]
      place += 1
      word |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return Int64(bitPattern: word) }
      shift += 7
    }
    throw Self.cutOff
  }

  private mutating func text() throws(StoreError) -> String {
    let count = try number()
    guard count >= 0, count <= Int64(bytes.count - place) else { throw Self.cutOff }
    let end = place + Int(count)
    defer { place = end }
    return String(decoding: bytes[place..<end], as: UTF8.self)
  }

  /// Calls `body` with each entry of a row that this program knows.
  static func forEach(
    in bytes: [UInt8], _ body: (EventEntry) throws(StoreError) -> Void
  ) throws(StoreError) {
    var entries = EventEntries(bytes)
    while !entries.isAtEnd {
      if let entry = try entries.next() { try body(entry) }
    }
  }

  private static var cutOff: StoreError { .invalidRow("an event that is cut off") }
}

/// The readers' queries of the event log, prepared once, and a cache of names.
final class EventStatements {
  let span: Statement
  let rows: Statement
  /// Never outdated, since a number is never given to a second name.
  var laneNames = GenerationCache<LaneNumber, LaneName>(
    countMax: StoreTuning.eventNamesCachedMax)

  init(on connection: borrowing Connection) throws(StoreError) {
    span = try Statement(
      """
      SELECT origin, (SELECT min(number) FROM event_log), \
      (SELECT coalesce(max(number), 0) FROM event_log) FROM event_origin WHERE number = 1
      """, on: connection)
    rows = try Statement(
      "SELECT number, at, entries FROM event_log WHERE number >= ? ORDER BY number",
      on: connection)
  }
}

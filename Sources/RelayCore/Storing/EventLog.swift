/// Events on their way into the log, and the log's size.
///
/// A transaction lists its events, a dozen bytes each, and appends the list as one row: no index,
/// and one page for many. Only a long list is split into several rows, so that a reader that starts
/// in the middle of one has little to skip. Listeners are not known here.
package struct EventLog: Sendable {
  /// The size of a row beside its entries, roughly: its key and its other columns.
  package static let rowOverheadBytes: Int64 = 24

  /// The bytes of entries after which a row takes no more.
  static let rowBytesMax = 16_384

  /// The present transaction's entries beyond ``fullRows``; see ``EventLog/Field`` for the format.
  private(set) var entries: [UInt8] = []
  /// The full rows of the present transaction.
  private(set) var fullRows: [[UInt8]] = []
  /// The number of the last row.
  package var lastRow: Int64 = 0
  /// The bytes of all rows that ever were, the last one included.
  package var bytesThrough: Int64 = 0
  /// The bytes of all deleted rows.
  package var bytesForgotten: Int64 = 0

  /// An empty log.
  package init() {}

  /// Whether the transaction has logged nothing.
  package var isEmpty: Bool { entries.isEmpty }

  /// The bytes of the log.
  package var bytes: Int64 { bytesThrough - bytesForgotten }

  /// The position after the last row.
  package var end: EventPosition { EventPosition(row: lastRow + 1, index: 0) }

  /// Lists an event.
  package mutating func append(_ entry: EventEntry) {
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

  /// A row that a transaction has to write.
  package struct Row: Sendable {
    /// Its number.
    package let number: Int64
    /// The bytes of all rows that ever were, this one included.
    package let bytesThrough: Int64
    /// Its entries.
    package let entries: [UInt8]
  }

  /// Removes and returns the entries that the transaction has to write, a list for each row.
  package mutating func takeRows() -> [[UInt8]] {
    let rows = fullRows + [entries]
    fullRows = []
    entries = []
    return rows
  }

  /// Has a row be the last one.
  package mutating func add(row entries: [UInt8]) -> Row {
    lastRow += 1
    bytesThrough += Int64(entries.count) + Self.rowOverheadBytes
    return Row(number: lastRow, bytesThrough: bytesThrough, entries: entries)
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

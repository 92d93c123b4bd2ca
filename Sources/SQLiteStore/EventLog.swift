import RelayCore

/// Events on their way into the log, and how large the log is.
///
/// A transaction lists what it did, a dozen bytes each, and appends the list as one row: no index,
/// and one page for many. Only a long list is cut into several rows, so that whoever goes on in the
/// middle of one has little to skip. Who listens has no place here at all.
struct EventLog {
  /// What a row takes beside its entries, roughly: its key and its other columns.
  static let rowOverheadBytes: Int64 = 24

  /// A row takes no further entries once it has so many bytes.
  static let rowBytesMax = 16_384

  /// What the transaction under way has added, but for ``fullRows``; see ``EventLog/Field`` for the
  /// form.
  private(set) var entries: [UInt8] = []
  /// Rows of the transaction under way that take no more.
  private(set) var fullRows: [[UInt8]] = []
  /// The number of the last row.
  var lastRow: Int64 = 0
  /// The bytes of all rows that there ever were, the last one included.
  var bytesThrough: Int64 = 0
  /// The bytes of all rows that have been forgotten.
  var bytesForgotten: Int64 = 0

  /// Whether the transaction has logged nothing.
  var isEmpty: Bool { entries.isEmpty }

  /// How many bytes the log takes.
  var bytes: Int64 { bytesThrough - bytesForgotten }

  /// The place behind the last row.
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

  /// The rows that the transaction is to write, which are then no longer listed.
  mutating func takeRows() -> [[UInt8]] {
    let rows = fullRows + [entries]
    fullRows = []
    entries = []
    return rows
  }

  /// Seven bits a byte, the lowest first; the highest bit says that more follow.
  private mutating func append(number: Int64) {
    var word = UInt64(bitPattern: number)
    while word >= 0x80 {
      entries.append(UInt8(truncatingIfNeeded: word) | 0x80)
      word >>= 7
    }
    entries.append(UInt8(word))
  }

  private mutating func append(text: String) {
    var bytes = Substring(text)
    while bytes.utf8.count > EventLimits.reasonBytesMax { bytes.removeLast() }
    append(number: Int64(bytes.utf8.count))
    entries.append(contentsOf: bytes.utf8)
  }

  /// Which parts an entry has, in the order in which they follow its code and this set.
  struct Field: OptionSet {
    let rawValue: UInt16

    // Those of common entries stand in the first seven bits, which take one byte.
    static let serial = Field(rawValue: 1 << 0)
    static let lane = Field(rawValue: 1 << 1)
    static let upstream = Field(rawValue: 1 << 2)
    /// The envelope is queued; no bytes follow.
    static let isQueued = Field(rawValue: 1 << 3)
    static let attempt = Field(rawValue: 1 << 4)
    static let status = Field(rawValue: 1 << 5)
    /// How many bytes of UTF-8 follow, and then these.
    static let reason = Field(rawValue: 1 << 6)
    static let client = Field(rawValue: 1 << 7)
    /// How the envelope stands, where it is not queued.
    static let standing = Field(rawValue: 1 << 8)
    static let dueAt = Field(rawValue: 1 << 9)
    /// How many numbers follow, and then these.
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

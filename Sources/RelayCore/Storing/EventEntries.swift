/// Reads the entries of one row of the event log, one after another.
package struct EventEntries {
  private let bytes: [UInt8]
  private var place = 0
  /// The number of entries that have been read.
  package private(set) var count = 0

  /// Reads a row from its beginning.
  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether all entries have been read.
  package var isAtEnd: Bool { place == bytes.count }

  /// The next entry; nil for one of a kind that this program does not know.
  ///
  /// - Precondition: not ``isAtEnd``.
  package mutating func next() throws(StoreError) -> EventEntry? {
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
    if fields.contains(.standing) { entry.standing = try standing() }
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

  private mutating func standing() throws(StoreError) -> Standing {
    let code = try number()
    guard let value = UInt8(exactly: code), let standing = Standing(rawValue: value) else {
      throw Self.invalid("standing \(code)")
    }
    return standing
  }

  private mutating func text() throws(StoreError) -> String {
    let count = try number()
    guard count >= 0, count <= Int64(bytes.count - place) else { throw Self.cutOff }
    let end = place + Int(count)
    defer { place = end }
    return String(decoding: bytes[place..<end], as: UTF8.self)
  }

  /// Calls `body` with each entry of a row that this program knows.
  package static func forEach(
    in bytes: [UInt8], _ body: (EventEntry) throws(StoreError) -> Void
  ) throws(StoreError) {
    var entries = EventEntries(bytes)
    while !entries.isAtEnd {
      if let entry = try entries.next() { try body(entry) }
    }
  }

  private static var cutOff: StoreError { invalid("an event that is cut off") }

  private static func invalid(_ what: String) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "read", subject: "the store",
      detail: "it holds \(what), which makes no sense")
  }
}

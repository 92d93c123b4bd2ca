import RelayCore
import SQLite

/// A search term of an envelope: its client or its tag, as a number of 32 bits.
///
/// Two terms may share a number, so a found envelope is checked. The number is stored, so its
/// computation never changes.
struct SearchTerm: Hashable {
  let code: UInt32

  /// The term of a client, by its number in the store.
  init(client: Int64) { code = Self.mixed(UInt64(bitPattern: client)) }

  /// The term of a tag.
  init(tag: String) {
    // FNV-1a, 64 bits (RFC 9923).
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in tag.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    code = Self.mixed(~hash)
  }

  /// The finalizer of SplitMix64: every bit of the result depends on every bit of the number.
  private static func mixed(_ number: UInt64) -> UInt32 {
    var mixed = number &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return UInt32(truncatingIfNeeded: (mixed ^ (mixed >> 31)) >> 32)
  }
}

/// The search index of a block of envelopes: which of them a search may mean.
///
/// It may name some that are not meant, and never leaves one out. It is written once, when the
/// block is full, so that acceptance pays a few bytes in a row for each envelope, and no page
/// elsewhere. On disk it has the terms' codes in ascending order, four bytes each with the least
/// significant first; then, for each, the place in the block, two bytes in the same order.
struct SearchBlock {
  /// The number of envelope numbers in a block.
  static let width: Int64 = 4096
  /// The most places of a term; with more, it names the whole block.
  static let placesMax = 256
  /// The most entries of a block; with more, it has no index, and is scanned.
  static let entriesMax = 16_384
  private static let everywhere: UInt16 = .max
  /// The size of an entry on disk.
  static let entryBytes = 6

  /// The places of a term.
  enum Places: Equatable {
    /// Too many places to name them.
    case everywhere
    /// Offsets in the block, in ascending order.
    case named([UInt16])
  }

  /// Terms with places, in one number each, which orders them by both.
  private var entries: [UInt64] = []

  /// Makes an empty block.
  init() {}

  /// Parses a stored block; nil for invalid bytes.
  init?(stored bytes: [UInt8]) {
    guard bytes.count % Self.entryBytes == 0 else { return nil }
    let count = bytes.count / Self.entryBytes
    entries.reserveCapacity(count)
    for index in 0..<count {
      let code = (0..<4).reduce(UInt64(0)) { $0 | UInt64(bytes[index * 4 + $1]) << ($1 * 8) }
      let place = (0..<2).reduce(UInt64(0)) {
        $0 | UInt64(bytes[count * 4 + index * 2 + $1]) << ($1 * 8)
      }
      guard place < Self.width || place == UInt64(Self.everywhere) else { return nil }
      entries.append(code << 16 | place)
      guard index == 0 || entries[index - 1] < entries[index] else { return nil }
    }
  }

  /// The block of an envelope.
  static func number(of serial: Serial) -> Int64 { serial / width }

  /// The envelope numbers of a block.
  static func range(of number: Int64) -> ClosedRange<Serial> {
    number * width...number * width + width - 1
  }

  /// The number of entries; the stored form may have fewer.
  var count: Int { entries.count }

  /// Adds a term of an envelope that has just got its number.
  mutating func append(_ term: SearchTerm, at serial: Serial) {
    entries.append(Self.entry(term, at: serial))
  }

  /// Adds a term of an envelope, unless it is there.
  mutating func insert(_ term: SearchTerm, at serial: Serial) {
    let entry = Self.entry(term, at: serial)
    if !entries.contains(entry) { entries.append(entry) }
  }

  private static func entry(_ term: SearchTerm, at serial: Serial) -> UInt64 {
    UInt64(term.code) << 16 | UInt64(serial % width)
  }

  /// The stored form; nil if it has more than ``entriesMax`` entries.
  func stored() -> [UInt8]? {
    let entries = gathered()
    guard entries.count <= Self.entriesMax else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(entries.count * Self.entryBytes)
    for entry in entries {
      for shift in [16, 24, 32, 40] { bytes.append(UInt8(truncatingIfNeeded: entry >> shift)) }
    }
    for entry in entries {
      for shift in [0, 8] { bytes.append(UInt8(truncatingIfNeeded: entry >> shift)) }
    }
    return bytes
  }

  /// The entries in order, each once, with one for a term in too many places.
  private func gathered() -> [UInt64] {
    let sorted = entries.sorted()
    var gathered: [UInt64] = []
    gathered.reserveCapacity(sorted.count)
    var start = 0
    while start < sorted.count {
      let term = sorted[start] >> 16
      var end = start + 1
      while end < sorted.count, sorted[end] >> 16 == term { end += 1 }
      let isEverywhere =
        end - start > Self.placesMax || sorted[end - 1] & 0xFFFF == UInt64(Self.everywhere)
      if isEverywhere {
        gathered.append(term << 16 | UInt64(Self.everywhere))
      } else {
        for entry in sorted[start..<end] where gathered.last != entry { gathered.append(entry) }
      }
      start = end
    }
    return gathered
  }
}

extension SearchBlock {
  /// The places of a term in a stored block, found without reading all of it; nil for invalid
  /// bytes.
  static func places(of term: SearchTerm, in stored: [UInt8]) -> Places? {
    guard stored.count % entryBytes == 0 else { return nil }
    let count = stored.count / entryBytes
    func code(_ index: Int) -> UInt32 {
      (0..<4).reduce(0) { $0 | UInt32(stored[index * 4 + $1]) << UInt32($1 * 8) }
    }
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if code(middle) < term.code { low = middle + 1 } else { high = middle }
    }
    var places: [UInt16] = []
    while low < count, code(low) == term.code {
      let at = count * 4 + low * 2
      let place = UInt16(stored[at]) | UInt16(stored[at + 1]) << 8
      guard place != everywhere else { return .everywhere }
      places.append(place)
      low += 1
    }
    return .named(places)
  }

  /// Whether a term leads to an envelope in a stored block.
  static func has(_ term: SearchTerm, at serial: Serial, in stored: [UInt8]) -> Bool {
    switch places(of: term, in: stored) {
    case .everywhere: true
    case .named(let places): places.contains(UInt16(serial % width))
    case nil: false
    }
  }
}

/// The block of envelopes that is not full yet, as searches will find it.
struct OpenSearchBlock {
  let number: Int64
  /// The block; nil if some of its envelopes cannot be read, so that it is not written.
  var block: SearchBlock?
}

/// The writer's statements for searches, prepared once.
final class SearchStatements {
  let find: Statement
  let store: Statement
  let forget: Statement
  let forgetEmptied: Statement
  let terms: Statement

  static let findSQL = "SELECT terms FROM search_block WHERE number = ?"

  init(on connection: borrowing Connection) throws(StoreError) {
    find = try Statement(Self.findSQL, on: connection)
    store = try Statement("INSERT OR REPLACE INTO search_block VALUES (?, ?, ?)", on: connection)
    forget = try Statement("DELETE FROM search_block WHERE number = ?", on: connection)
    forgetEmptied = try Statement(
      """
      DELETE FROM search_block WHERE number = ?1 AND NOT EXISTS (\
      SELECT 1 FROM envelope WHERE serial BETWEEN ?2 AND ?3)
      """, on: connection)
    terms = try Statement(
      "SELECT serial, client, tag FROM envelope WHERE serial BETWEEN ? AND ?", on: connection)
  }
}

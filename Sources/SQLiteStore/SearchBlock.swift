import RelayCore

/// What an envelope is searched for by: its client, or its tag, as a number of 32 bits.
///
/// Two may share a number: what is found is looked at all the same. It is kept on disk, so it is
/// never computed otherwise.
struct SearchTerm: Hashable {
  let code: UInt32

  /// A client, by its number in the store.
  init(client: Int64) { code = Self.mixed(UInt64(bitPattern: client)) }

  /// A tag.
  init(tag: String) {
    // FNV-1a, 64 bits (RFC 9923).
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in tag.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    code = Self.mixed(~hash)
  }

  /// The finalizer of SplitMix64: every bit of the result hangs on every bit of the number.
  private static func mixed(_ number: UInt64) -> UInt32 {
    var mixed = number &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return UInt32(truncatingIfNeeded: (mixed ^ (mixed >> 31)) >> 32)
  }
}

/// The index of a stretch of envelopes: which of them a search may mean.
///
/// It may name some that are not meant, and never leaves one out. Written once, when the stretch is
/// full, so that acceptance pays a few bytes in a row for each envelope, and no page elsewhere. On
/// disk it is the terms' codes, least first, four bytes each with the least significant first; and
/// then, for each, the place in the stretch, two bytes likewise.
struct SearchBlock {
  /// How many numbers a stretch has.
  static let width: Int64 = 4096
  /// With more places than so many a term names the whole stretch.
  static let placesMax = 256
  /// With more entries than so many a stretch has no index, and is gone through.
  static let entriesMax = 16_384
  private static let everywhere: UInt16 = .max
  /// What an entry takes on disk.
  static let entryBytes = 6

  /// Where a term is found.
  enum Places: Equatable {
    /// In too many places to name them.
    case everywhere
    /// Counted from the beginning of the stretch, least first.
    case named([UInt16])
  }

  /// A term and a place, so that they are ordered by both.
  private var entries: [UInt64] = []

  /// One of which nothing is known yet.
  init() {}

  /// Reads one; nil for bytes that nobody has written.
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

  /// The stretch that an envelope is in.
  static func number(of serial: Serial) -> Int64 { serial / width }

  /// The numbers of a stretch.
  static func range(of number: Int64) -> ClosedRange<Serial> {
    number * width...number * width + width - 1
  }

  /// How many entries it has; what is stored has fewer.
  var count: Int { entries.count }

  /// Adds a term of an envelope that got its number just now.
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

  /// As it is stored; nil if it has more than ``entriesMax``.
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

  /// In order, each once, and one for a term that has too many.
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
  /// Where a term is found in what is stored, without reading all of it; nil for bytes that nobody
  /// has written.
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

  /// Whether a term leads to an envelope in what is stored.
  static func has(_ term: SearchTerm, at serial: Serial, in stored: [UInt8]) -> Bool {
    switch places(of: term, in: stored) {
    case .everywhere: true
    case .named(let places): places.contains(UInt16(serial % width))
    case nil: false
    }
  }
}

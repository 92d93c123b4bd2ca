import RelayCore

/// Builds a block of header fields whose parts have been checked, by appending bytes.
struct HeaderLines {
  private var bytes: [UInt8] = []
  /// The number of fields.
  private(set) var count = 0
  /// The number and size of those that relays may have added.
  private var addedCount = 0
  private var addedByteCount = 0
  /// The most bytes of one that a relay may have added.
  private static let addedBytesMax = 1024

  init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  /// Adds a field: a token, and a value without control characters or white space around it.
  mutating func append(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
    bytes.append(contentsOf: name)
    bytes.append(UInt8(ascii: ":"))
    bytes.append(0x20)
    bytes.append(contentsOf: value)
    bytes.append(0x0D)
    bytes.append(0x0A)
    count += 1
    let lineBytes = name.count + value.count + 4
    guard Self.mayBeAdded(name), lineBytes <= Self.addedBytesMax else { return }
    addedCount += 1
    addedByteCount += lineBytes
  }

  /// Whether relays add fields of this name to what they are given, or make it longer.
  private static func mayBeAdded(_ name: ArraySlice<UInt8>) -> Bool {
    switch name.count {
    case 3: FieldSyntax.equals(name, "Via")
    case 10: FieldSyntax.equals(name, "tracestate")
    case 11: FieldSyntax.equals(name, "traceparent")
    case 12: FieldSyntax.equals(name, "Content-Type")
    case 15: FieldSyntax.equals(name, "Idempotency-Key")
    default: false
    }
  }

  /// Whether there are no more fields than an envelope may have.
  ///
  /// Those that relays add do not count: what one has taken, the next one takes with them.
  func isWithinCount(_ limits: LimitsConfiguration) -> Bool {
    count - addedCount <= limits.headerCountMax
  }

  /// Whether they have no more bytes than an envelope's may have, line ends included.
  func isWithinBytes(_ limits: LimitsConfiguration) -> Bool {
    bytes.count - addedByteCount <= limits.headerBytesMax
  }

  /// Adds the fields of another block behind those that are there.
  mutating func append(_ other: HeaderLines) {
    bytes.append(contentsOf: other.bytes)
    count += other.count
    addedCount += other.addedCount
    addedByteCount += other.addedByteCount
  }

  /// Adds the field in front of all others.
  mutating func prepend(_ line: StaticString) {
    line.withUTF8Buffer { bytes.insert(contentsOf: $0, at: 0) }
    count += 1
  }

  /// The block; nil if a part was not as it had to be.
  var block: RelayCore.HeaderBlock? { RelayCore.HeaderBlock(stored: bytes) }
}

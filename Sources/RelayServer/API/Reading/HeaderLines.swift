import RelayCore

/// Builds a block of header fields whose parts have been checked, by appending bytes.
struct HeaderLines {
  private var bytes: [UInt8] = []
  /// The number of fields.
  private(set) var count = 0
  /// Their size in bytes, line ends included.
  var byteCount: Int { bytes.count }

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
  }

  /// Adds the fields of another block behind those that are there.
  mutating func append(_ other: HeaderLines) {
    bytes.append(contentsOf: other.bytes)
    count += other.count
  }

  /// Adds the field in front of all others.
  mutating func prepend(_ line: StaticString) {
    line.withUTF8Buffer { bytes.insert(contentsOf: $0, at: 0) }
    count += 1
  }

  /// The block; nil if a part was not as it had to be.
  var block: RelayCore.HeaderBlock? { RelayCore.HeaderBlock(stored: bytes) }
}

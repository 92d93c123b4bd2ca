/// The function that receipts are made with: SHA-256 (FIPS 180-4), 32 bytes.
///
/// It is handed in, since this module has no cryptography of its own.
package typealias ReceiptHash = @Sendable ([UInt8]) -> [UInt8]

/// Bytes of which a digest is taken.
///
/// Each text and each list of bytes carries its length, so that no two contents make the same
/// bytes.
package struct ReceiptBytes: Sendable {
  /// What was added so far.
  package private(set) var bytes: [UInt8]

  /// What most of them take, in bytes.
  private static let usualByteCount = 192

  /// Begins with the name of what follows, and a zero byte.
  package init(_ name: StaticString) {
    bytes = []
    bytes.reserveCapacity(Self.usualByteCount)
    name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(0)
  }

  /// Begins with one byte, as the links of a chain do.
  package init(byte: UInt8) {
    bytes = []
    bytes.reserveCapacity(Self.usualByteCount)
    bytes.append(byte)
  }

  /// Adds bytes behind their length, in four bytes.
  package mutating func add(counted more: some Collection<UInt8>) {
    add(UInt32(more.count))
    bytes.append(contentsOf: more)
  }

  /// Adds bytes of a length that is known.
  package mutating func add(_ more: [UInt8]) { bytes.append(contentsOf: more) }

  /// Adds a number in as many bytes as its type has, the highest first.
  package mutating func add(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }
}

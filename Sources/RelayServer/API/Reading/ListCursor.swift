import Cryptography
import RelayCore

/// The place where a list of envelopes continues; opaque to its holder.
///
/// It holds the number of the last envelope that was looked at, so it outlives restarts and what
/// happens to any envelope; and a digest of the filter, since under another filter it would leave
/// out what that one lets pass.
package struct ListCursor: Equatable, Sendable {
  /// Everything up to this number has been looked at.
  package let serial: Serial
  private let digest: UInt64

  /// The place behind `serial` in the list that a filter makes.
  package init(behind serial: Serial, of filter: EnvelopeFilter) {
    self.serial = serial
    digest = Self.digest(of: filter)
  }

  /// Reads what ``text`` gave; nil for anything else.
  package init?(parsing text: String) {
    guard let bytes = Base64URL.decode(text), bytes.count == 16 else { return nil }
    let number = Self.number(bytes[0..<8])
    guard number <= UInt64(EnvelopeID.serialMax) else { return nil }
    serial = Serial(number)
    digest = Self.number(bytes[8..<16])
  }

  /// 22 characters.
  package var text: String {
    Base64URL.encode(Self.bytes(of: UInt64(serial)) + Self.bytes(of: digest))
  }

  /// Whether it was given out under this filter.
  package func belongs(to filter: EnvelopeFilter) -> Bool { digest == Self.digest(of: filter) }

  /// Attempts under way play no part in it.
  private static func digest(of filter: EnvelopeFilter) -> UInt64 {
    let states = filter.selection.states.map(\.rawValue).sorted().joined(separator: ",")
    // No value holds a line break, so each filter has a text of its own.
    let named: Set = ["client", "lane", "upstream", "tag"]
    var parts = ["list 1"]
    for field in SelectionField.all {
      let text = field.text(filter.selection)
      // These have always been there; any other is there where it selects.
      if let text = text ?? (named.contains(field.name) ? "" : nil) {
        parts.append("\(field.name) \(text)")
      }
    }
    parts.insert("states \(states)", at: 1 + named.count)
    return number(SHA256.digest(of: Array(parts.joined(separator: "\n").utf8))[0..<8])
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func bytes(of number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
  }
}

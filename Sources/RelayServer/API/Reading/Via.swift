import HTTPServer
import RelayCore

/// The relays that a post has come through, by the `Via` that each of them writes (RFC 9110 section
/// 7.6.3).
struct Via {
  /// What the names of all relays begin with.
  private static let prefix = "waystation-"
  /// The digits of a store's number in base 16.
  private static let digitsCount = 8
  /// The most relays that are remembered, the latest ones: an envelope of a batch keeps each.
  static let relaysMax = 16

  /// The names of the relays, the first one first.
  private var relays: [ArraySlice<UInt8>] = []

  /// Reads a request's fields; proxies that are no relays are left out.
  ///
  /// - Parameter pseudonym: This relay's own name.
  /// - Throws: `relay-loop` if the request has come through this relay before. It would be taken
  ///   for a repeat of what it is itself, and end as delivered at the relay that has sent it,
  ///   though no upstream ever got it.
  init(_ head: RequestHead, at pseudonym: String) throws(Problem) {
    for value in head.values(of: "Via") {
      for member in value.split(separator: UInt8(ascii: ",")) {
        // Each member is a protocol, a name, and perhaps a comment.
        let words = member.split { $0 == 0x20 || $0 == 0x09 }
        guard words.count > 1, Self.isName(words[1]) else { continue }
        guard !words[1].elementsEqual(pseudonym.utf8) else { throw .relayLoop(pseudonym) }
        relays.append(words[1])
      }
    }
    relays = relays.suffix(Self.relaysMax)
  }

  /// The field of an envelope that has come through them; nil if it came through none.
  var fieldValue: [UInt8]? {
    guard !relays.isEmpty else { return nil }
    return Array(relays.map { Array("1.1 ".utf8) + $0 }.joined(separator: ", ".utf8))
  }

  /// The name under which a relay stands in it: its store's own, so that no two relays share one.
  ///
  /// - Parameter origin: The number of its store.
  static func pseudonym(of origin: UInt32) -> String {
    let digits = String(origin, radix: 16)
    return prefix + String(repeating: "0", count: digitsCount - digits.utf8.count) + digits
  }

  private static func isName(_ word: ArraySlice<UInt8>) -> Bool {
    word.count == prefix.utf8.count + digitsCount && word.starts(with: prefix.utf8)
      && word.suffix(digitsCount).allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
  }
}

import Glibc

/// A text that is searched for byte by byte, in a time that grows with what is searched alone.
///
/// What is searched may have been made so that it nearly holds the text everywhere: nothing is
/// looked at twice, as Knuth, Morris and Pratt have it (SIAM Journal on Computing 6, 1977).
struct Needle: Sendable {
  /// How far a search has come.
  struct Search {
    /// The place of the next byte.
    var index = 0
    /// The number of the text's first bytes that stand before it.
    var matched = 0
  }

  let bytes: [UInt8]
  /// How many of the first bytes still stand before a place where the next one is another than the
  /// text's, by the number of those that stood there; -1 where none do, and that byte is no first
  /// one.
  private let fallbacks: [Int]

  /// - Precondition: The text is not empty.
  init(_ bytes: [UInt8]) {
    precondition(!bytes.isEmpty)
    self.bytes = bytes
    var fallbacks = [-1]
    var candidate = 0
    for index in 1..<max(bytes.count, 1) {
      // The same byte would be another one again.
      fallbacks.append(bytes[index] == bytes[candidate] ? fallbacks[candidate] : candidate)
      while candidate >= 0, bytes[candidate] != bytes[index] { candidate = fallbacks[candidate] }
      candidate += 1
    }
    fallbacks.append(candidate)
    self.fallbacks = fallbacks
  }

  /// How many of its first bytes stand before a place, once the next byte is known.
  ///
  /// - Parameter matched: The number that stood before that byte.
  func matched(after matched: Int, _ byte: UInt8) -> Int {
    var matched = matched == bytes.count ? fallbacks[matched] : matched
    while matched >= 0, bytes[matched] != byte { matched = fallbacks[matched] }
    return matched + 1
  }

  /// The end of the next occurrence, which may overlap the one before; nil if there is none.
  func nextEnd(in text: [UInt8], _ search: inout Search) -> Int? {
    text.withUnsafeBytes { text in
      guard let base = text.baseAddress else { return nil }
      while search.index < text.count {
        if search.matched == 0 {
          // The first byte is rare in most texts.
          let rest = text.count - search.index
          guard let hit = memchr(base + search.index, Int32(bytes[0]), rest) else {
            search.index = text.count
            return nil
          }
          search.index = UnsafeRawPointer(hit) - base
        }
        search.matched = matched(after: search.matched, text[search.index])
        search.index += 1
        if search.matched == bytes.count { return search.index }
      }
      return nil
    }
  }
}

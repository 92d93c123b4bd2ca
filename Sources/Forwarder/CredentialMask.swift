import RelayCore

/// Overwrites an upstream's credentials where its own responses, or an error's words, repeat them.
///
/// Devices and operators see those, and a debugging page that shows the request's fields must not
/// give the relay's credentials to all of them. Each byte becomes a `*`, so that lengths do not
/// change. Credentials are found as they were sent, or escaped as in URLs and as the usual writers
/// of JSON do, but not in compressed data.
package struct CredentialMask: Sendable {
  /// The length of the shortest credential that is searched for, in bytes: shorter ones would be
  /// found everywhere.
  package static let credentialBytesMin = 8
  /// The length of the shortest beginning of a credential that is overwritten at a cut body's end,
  /// in bytes.
  private static let beginningBytesMin = 4
  private static let replacement = UInt8(ascii: "*")

  private let needles: [Needle]
  /// The credentials as they are sent.
  private let plain: [Needle]

  /// Searches for these texts, and for their escaped forms.
  package init(_ credentials: [String] = []) {
    var needles: Set<[UInt8]> = []
    plain = credentials.map { Array($0.utf8) }.filter { $0.count >= Self.credentialBytesMin }
      .map(Needle.init)
    for credential in credentials where credential.utf8.count >= Self.credentialBytesMin {
      let bytes = Array(credential.utf8)
      needles.insert(bytes)
      needles.insert(PercentEncoding.encode(bytes))
      for style in JSONEscapes.usual { needles.insert(Array(style.escaped(credential).utf8)) }
    }
    // The longest first, so that none is broken up by a part of itself.
    self.needles = needles.sorted { $0.count > $1.count }.map(Needle.init)
  }

  /// The response without the credentials.
  package func masked(_ response: UpstreamResponse) -> UpstreamResponse {
    guard !needles.isEmpty else { return response }
    var masked = response
    mask(&masked.body)
    if response.isTruncated { maskBeginning(atEndOf: &masked.body) }
    if let fields = self.masked(response.headers.bytes) {
      masked.headers = HeaderBlock(stored: fields) ?? HeaderBlock()
    }
    return masked
  }

  /// The words without the credentials.
  package func masked(_ words: String) -> String {
    masked(Array(words.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? words
  }

  /// The bytes without the credentials; nil if there were none.
  private func masked(_ bytes: [UInt8]) -> [UInt8]? {
    var masked = bytes
    return mask(&masked) ? masked : nil
  }

  @discardableResult
  private func mask(_ bytes: inout [UInt8]) -> Bool {
    var isChanged = false
    for needle in needles {
      var search = Needle.Search()
      var masked = 0
      while let end = needle.nextEnd(in: bytes, &search) {
        for place in max(masked, end - needle.bytes.count)..<end {
          bytes[place] = Self.replacement
        }
        masked = end
        isChanged = true
      }
    }
    return maskEscaped(&bytes) || isChanged
  }

  /// Overwrites credentials in JSON any of whose characters are written as `\uXXXX`, as JSON allows
  /// for each (RFC 8259 section 7).
  ///
  /// Nothing is made of the text, which may have megabytes, but for the places of as many of its
  /// characters as the longest credential has.
  private func maskEscaped(_ bytes: inout [UInt8]) -> Bool {
    var search = Needle.Search()
    guard let longest = plain.map(\.bytes.count).max(),
      Self.escape.nextEnd(in: bytes, &search) != nil
    else { return false }
    var matched = [Int](repeating: 0, count: plain.count)
    var places = LastPlaces(count: longest)
    var index = 0
    // The end of what is overwritten.
    var masked = 0
    while index < bytes.count {
      let (character, count) = JSONEscapes.character(in: bytes, at: index)
      places.note(index)
      index += count
      for number in plain.indices {
        let needle = plain[number]
        matched[number] = needle.matched(after: matched[number], character)
        guard matched[number] == needle.bytes.count else { continue }
        let start = max(masked, places.last(needle.bytes.count))
        for place in start..<index { bytes[place] = Self.replacement }
        masked = index
      }
    }
    return masked > 0
  }

  /// The beginning of an ASCII character that is written as a number.
  private static let escape = Needle(Array("\\u00".utf8))

  /// The places of the last characters of a text.
  private struct LastPlaces {
    private var places: [Int]
    private var next = 0

    init(count: Int) { places = [Int](repeating: 0, count: count) }

    mutating func note(_ place: Int) {
      places[next] = place
      next = next + 1 == places.count ? 0 : next + 1
    }

    /// The place of the character that is so many characters from the end, of which the last is 1.
    func last(_ count: Int) -> Int {
      places[next >= count ? next - count : next - count + places.count]
    }
  }

  /// Overwrites the beginning of a credential at the end of a cut body, which may have cut the
  /// credential too.
  private func maskBeginning(atEndOf bytes: inout [UInt8]) {
    for needle in needles.map(\.bytes) {
      let longest = min(needle.count - 1, bytes.count)
      guard longest >= Self.beginningBytesMin else { continue }
      for count in stride(from: longest, through: Self.beginningBytesMin, by: -1)
      where bytes[(bytes.count - count)...].elementsEqual(needle[..<count]) {
        for index in (bytes.count - count)..<bytes.count { bytes[index] = Self.replacement }
        break
      }
    }
  }
}

import RelayCore

/// Overwrites an upstream's credentials where its own responses, or an error's words, repeat them.
///
/// Devices and operators see those, and a debugging page that shows the request's fields must not
/// give the relay's credentials to all of them. Each byte becomes a `*`, so that lengths do not
/// change. Credentials are found as they were sent, and whichever of their characters are escaped
/// as in JSON and URLs, but not in compressed data.
package struct CredentialMask: Sendable {
  /// The length of the shortest credential that is searched for, in bytes: shorter ones would be
  /// found everywhere.
  package static let credentialBytesMin = 8
  /// The length of the shortest beginning of a credential that is overwritten at a cut body's end,
  /// in bytes.
  fileprivate static let beginningBytesMin = 4

  private let search: CredentialSearch

  /// Searches for these texts, and for their escaped forms.
  package init(_ credentials: [String] = []) {
    search = CredentialSearch(
      Set(credentials).map { Array($0.utf8) }.filter { $0.count >= Self.credentialBytesMin })
  }

  /// The response without the credentials.
  package func masked(_ response: UpstreamResponse) -> UpstreamResponse {
    guard !search.isEmpty else { return response }
    var masked = response
    mask(&masked.body, isCut: response.isTruncated)
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

  /// - Parameter isCut: Whether the end may have cut a credential.
  @discardableResult
  private func mask(_ bytes: inout [UInt8], isCut: Bool = false) -> Bool {
    guard !search.isEmpty else { return false }
    return bytes.withUnsafeMutableBufferPointer { bytes in
      var pass = MaskingPass(search)
      pass.run(over: bytes)
      if isCut { pass.maskBeginning(atEndOf: bytes) }
      return pass.stars.end > 0
    }
  }
}

/// One pass over a text, in which it is read both as it stands and with its escapes undone.
///
/// A credential may look like an escape itself. Nothing is made of the text, which may have
/// megabytes, but for the places of as many of its characters as the longest credential has.
private struct MaskingPass {
  private let search: CredentialSearch
  /// What was found of the text as it stands, and with its escapes undone.
  private var plain = CredentialSearch.start
  private var read = CredentialSearch.start
  private var places: LastPlaces
  private(set) var stars = Stars()

  init(_ search: CredentialSearch) {
    self.search = search
    places = LastPlaces(count: search.longest)
  }

  mutating func run(over bytes: UnsafeMutableBufferPointer<UInt8>) {
    var index = 0
    while index < bytes.count {
      guard EscapedText.isFirst[Int(bytes[index])] else {
        step(bytes[index], over: bytes, at: index)
        index += 1
        continue
      }
      switch EscapedText.character(in: bytes, at: index) {
      case .plain:
        step(bytes[index], over: bytes, at: index)
        index += 1
      case .cut:
        // The text as it is read ends here.
        for place in index..<bytes.count { stepPlain(over: bytes, at: place) }
        return
      case .byte(let byte, let count):
        for place in index..<(index + count) { stepPlain(over: bytes, at: place) }
        stepRead(byte, over: bytes, at: index, count: count)
        index += count
      case .scalar(let scalar, let count):
        for place in index..<(index + count) { stepPlain(over: bytes, at: place) }
        for byte in UTF8.encode(scalar) ?? .init() {
          stepRead(byte, over: bytes, at: index, count: count)
        }
        index += count
      }
    }
  }

  /// Goes on by a byte that is no escape.
  private mutating func step(
    _ byte: UInt8, over bytes: UnsafeMutableBufferPointer<UInt8>, at index: Int
  ) {
    guard plain == read else {
      stepPlain(over: bytes, at: index)
      return stepRead(byte, over: bytes, at: index, count: 1)
    }
    // Nothing was escaped within what stands here, so that both are one.
    places.note(index)
    plain = search.next(plain, byte)
    read = plain
    let found = search.found(plain)
    if found > 0 { stars.cover(places.last(found)..<(index + 1), of: bytes) }
  }

  private mutating func stepPlain(over bytes: UnsafeMutableBufferPointer<UInt8>, at index: Int) {
    plain = search.next(plain, bytes[index])
    let found = search.found(plain)
    if found > 0 { stars.cover((index + 1 - found)..<(index + 1), of: bytes) }
  }

  private mutating func stepRead(
    _ byte: UInt8, over bytes: UnsafeMutableBufferPointer<UInt8>, at index: Int, count: Int
  ) {
    places.note(index)
    read = search.next(read, byte)
    let found = search.found(read)
    if found > 0 { stars.cover(places.last(found)..<(index + count), of: bytes) }
  }

  /// Overwrites the beginning of a credential at the end of a cut text, which may have cut the
  /// credential too.
  mutating func maskBeginning(atEndOf bytes: UnsafeMutableBufferPointer<UInt8>) {
    let plain = search.count(plain)
    if plain >= CredentialMask.beginningBytesMin {
      stars.cover((bytes.count - plain)..<bytes.count, of: bytes)
    }
    let read = search.count(read)
    if read >= CredentialMask.beginningBytesMin {
      stars.cover(places.last(read)..<bytes.count, of: bytes)
    }
  }

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

  /// What was overwritten last, in one piece, of which nothing is overwritten twice.
  struct Stars {
    private var start = 0
    private(set) var end = 0

    mutating func cover(_ range: Range<Int>, of bytes: UnsafeMutableBufferPointer<UInt8>) {
      guard range.lowerBound <= end, end > 0 else {
        fill(range, of: bytes)
        (start, end) = (range.lowerBound, range.upperBound)
        return
      }
      if range.lowerBound < start {
        fill(range.lowerBound..<start, of: bytes)
        start = range.lowerBound
      }
      if range.upperBound > end {
        fill(end..<range.upperBound, of: bytes)
        end = range.upperBound
      }
    }

    private func fill(_ range: Range<Int>, of bytes: UnsafeMutableBufferPointer<UInt8>) {
      for place in range { bytes[place] = UInt8(ascii: "*") }
    }
  }
}

import Glibc
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

  private let needles: [[UInt8]]
  /// The credentials as they are sent.
  private let plain: [[UInt8]]

  /// Searches for these texts, and for their escaped forms.
  package init(_ credentials: [String] = []) {
    var needles: Set<[UInt8]> = []
    plain = credentials.map { Array($0.utf8) }.filter { $0.count >= Self.credentialBytesMin }
    for credential in credentials where credential.utf8.count >= Self.credentialBytesMin {
      let bytes = Array(credential.utf8)
      needles.insert(bytes)
      needles.insert(PercentEncoding.encode(bytes))
      for style in JSONEscapes.usual { needles.insert(Array(style.escaped(credential).utf8)) }
    }
    // The longest first, so that none is broken up by a part of itself.
    self.needles = needles.sorted { $0.count > $1.count }
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
      var start = 0
      while let place = Self.find(needle, in: bytes, from: start) {
        for index in place..<(place + needle.count) { bytes[index] = Self.replacement }
        start = place + needle.count
        isChanged = true
      }
    }
    return maskEscaped(&bytes) || isChanged
  }

  /// Overwrites credentials in JSON any of whose characters are written as `\uXXXX`, as JSON allows
  /// for each (RFC 8259 section 7).
  ///
  /// Nothing is made of the text, which may have megabytes: each of its characters is looked at as
  /// the beginning of a credential, and those behind it have been overwritten.
  private func maskEscaped(_ bytes: inout [UInt8]) -> Bool {
    guard Self.find(Array("\\u00".utf8), in: bytes, from: 0) != nil else { return false }
    var isChanged = false
    var index = 0
    // The end of those credentials that have been found.
    var end = 0
    while index < bytes.count {
      let (first, count) = JSONEscapes.character(in: bytes, at: index)
      for needle in plain where needle[0] == first {
        end = max(end, Self.endOf(needle, in: bytes, at: index) ?? 0)
      }
      if index < end {
        for place in index..<(index + count) { bytes[place] = Self.replacement }
        isChanged = true
      }
      index += count
    }
    return isChanged
  }

  /// The end of a credential that begins at a character; nil if another text stands there.
  private static func endOf(_ needle: [UInt8], in bytes: [UInt8], at start: Int) -> Int? {
    var index = start
    for byte in needle {
      guard index < bytes.count else { return nil }
      let (character, count) = JSONEscapes.character(in: bytes, at: index)
      guard character == byte else { return nil }
      index += count
    }
    return index
  }

  /// Overwrites the beginning of a credential at the end of a cut body, which may have cut the
  /// credential too.
  private func maskBeginning(atEndOf bytes: inout [UInt8]) {
    for needle in needles {
      let longest = min(needle.count - 1, bytes.count)
      guard longest >= Self.beginningBytesMin else { continue }
      for count in stride(from: longest, through: Self.beginningBytesMin, by: -1)
      where bytes[(bytes.count - count)...].elementsEqual(needle[..<count]) {
        for index in (bytes.count - count)..<bytes.count { bytes[index] = Self.replacement }
        break
      }
    }
  }

  /// Searches with memchr(3) for the first byte, which is rare in most bodies.
  private static func find(_ needle: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
    bytes.withUnsafeBytes { bytes in
      needle.withUnsafeBytes { needle in
        var index = start
        while index + needle.count <= bytes.count {
          guard let base = bytes.baseAddress,
            let hit = memchr(base + index, Int32(needle[0]), bytes.count - needle.count - index + 1)
          else { return nil }
          index = UnsafeRawPointer(hit) - base
          let isHere = needle.elementsEqual(bytes[index..<(index + needle.count)])
          if isHere { return index }
          index += 1
        }
        return nil
      }
    }
  }
}

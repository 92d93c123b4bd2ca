import RelayCore

/// An upstream's base URL, taken apart and checked once, when the configuration is read.
///
/// Stricter than RFC 3986: whatever could make libcurl and this code disagree about where a request
/// goes is refused.
package struct UpstreamURL: Sendable, Hashable {
  /// How the connection is made.
  package enum Scheme: String, Sendable {
    /// In clear.
    case http
    /// Over TLS.
    case https
  }

  /// How the connection is made.
  package let scheme: Scheme
  /// The name or the address; an IPv6 address stands in brackets.
  package let host: String
  /// The port, 1 to 65535.
  package let port: UInt16
  /// What goes before each target: empty, or beginning with `/` and not ending with one.
  package let basePath: String

  /// Scheme, host and port, without a slash at the end; the port is always written.
  package var origin: String { "\(scheme.rawValue)://\(host):\(port)" }
  /// Host and port, for sentences.
  package var authority: String { "\(host):\(port)" }

  /// Takes a base URL apart.
  ///
  /// - Throws: ``UpstreamTargetError`` with a sentence that says what is wrong with it.
  package init(_ text: String) throws(UpstreamTargetError) {
    let bytes = Array(text.utf8)
    guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
      throw UpstreamTargetError(
        "a URL holds visible ASCII characters only; write other names in their xn-- form")
    }
    guard let (scheme, rest) = Self.splitScheme(bytes) else {
      throw UpstreamTargetError("expected a URL that begins with http:// or https://")
    }
    guard !rest.contains(UInt8(ascii: "?")), !rest.contains(UInt8(ascii: "#")) else {
      throw UpstreamTargetError("a base URL has no query and no fragment")
    }
    let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    let authority = rest[..<slash]
    guard !authority.contains(UInt8(ascii: "@")) else {
      throw UpstreamTargetError("credentials do not belong in a URL; use headers instead")
    }
    self.scheme = scheme
    (host, port) = try Self.splitAuthority(
      authority, defaultPort: scheme == .https ? 443 : 80)
    var path = rest[slash...]
    while path.last == UInt8(ascii: "/") { path.removeLast() }
    basePath = String(decoding: path, as: UTF8.self)
  }

  private static func splitScheme(_ bytes: [UInt8]) -> (Scheme, ArraySlice<UInt8>)? {
    for scheme in [Scheme.http, .https] {
      let prefix = Array("\(scheme.rawValue)://".utf8)
      guard bytes.count > prefix.count,
        FieldSyntax.equalIgnoringCase(bytes.prefix(prefix.count), prefix)
      else { continue }
      return (scheme, bytes.dropFirst(prefix.count))
    }
    return nil
  }

  private static func splitAuthority(
    _ authority: ArraySlice<UInt8>, defaultPort: UInt16
  ) throws(UpstreamTargetError) -> (String, UInt16) {
    var hostEnd = authority.endIndex
    if authority.first == UInt8(ascii: "[") {
      guard let bracket = authority.firstIndex(of: UInt8(ascii: "]")) else {
        throw UpstreamTargetError("the IPv6 address lacks its closing bracket")
      }
      hostEnd = bracket + 1
    } else if let colon = authority.firstIndex(of: UInt8(ascii: ":")) {
      hostEnd = colon
    }
    let host = authority[..<hostEnd]
    guard isHost(host) else {
      throw UpstreamTargetError(
        "the URL's host is neither a name, nor an IPv4 address, nor an IPv6 address in brackets")
    }
    let port = authority[hostEnd...]
    guard !port.isEmpty else { return (String(decoding: host, as: UTF8.self), defaultPort) }
    let digits = port.dropFirst()
    guard port.first == UInt8(ascii: ":"), digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
      let number = UInt16(String(decoding: digits, as: UTF8.self)), number > 0
    else { throw UpstreamTargetError("the URL's port is not a number from 1 to 65535") }
    return (String(decoding: host, as: UTF8.self), number)
  }

  private static func isHost(_ bytes: ArraySlice<UInt8>) -> Bool {
    func isHexDigit(_ byte: UInt8) -> Bool {
      (byte >= 0x30 && byte <= 0x39) || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x66)
    }
    if bytes.first == UInt8(ascii: "[") {
      let inner = bytes.dropFirst().dropLast()
      return inner.count >= 2
        && inner.allSatisfy {
          isHexDigit($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
    }
    return !bytes.isEmpty && bytes.count <= 253
      && bytes.allSatisfy {
        isHexDigit($0) || ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) || $0 == UInt8(ascii: "-")
          || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
      }
  }
}

/// The base URL of an upstream: `http` or `https`, a host, and perhaps a port and a base path.
///
/// A base URL has no user name, query or fragment: credentials belong in headers, where they are
/// hidden.
package struct UpstreamURL: Hashable, Sendable, CustomStringConvertible {
  /// The scheme of a URL.
  package enum Scheme: String, CaseIterable, Sendable {
    /// Plain text.
    case http
    /// Over TLS.
    case https
  }

  /// The scheme.
  package let scheme: Scheme
  /// The host as written in a URL, in lower case; an IPv6 address is in brackets.
  package let host: String
  /// The port; nil if none was given.
  package let port: UInt16?
  /// The path to which others are appended: empty, or `/` and more, without a slash at the end.
  package let basePath: String

  /// Scheme, host and port, without a slash at the end.
  package var origin: String { "\(scheme.rawValue)://\(authority)" }
  /// Host and port, as in a `Host` field.
  package var authority: String { port.map { "\(host):\($0)" } ?? host }
  /// The URL in full.
  package var description: String { origin + basePath }

  /// The reason that a text is no base URL, in words that fit after "expected".
  package struct Refusal: Error, Equatable, CustomStringConvertible {
    /// The expected form.
    package let expected: String
    /// Whether the text may be shown: not if it holds a user name or a query.
    package let mayShow: Bool

    /// The refusal as a sentence.
    package var description: String { "expected \(expected)" }
  }

  /// Parses a base URL.
  ///
  /// - Throws: The fault that it has.
  package init(_ text: String) throws(Refusal) {
    let secretive = text.utf8.contains { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "?") }
    func refusal(_ expected: String) -> Refusal {
      Refusal(expected: expected, mayShow: !secretive)
    }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !Self.forbidden.contains($0) })
    else { throw refusal("a URL in which blanks and other special characters are escaped") }
    guard let (scheme, rest) = Self.splitScheme(text) else {
      throw refusal("a URL that begins with http:// or https://")
    }
    guard !rest.utf8.contains(UInt8(ascii: "?")), !rest.utf8.contains(UInt8(ascii: "#")) else {
      throw refusal("a URL without a query or fragment")
    }
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    guard !rest[..<slash].utf8.contains(UInt8(ascii: "@")) else {
      throw refusal("a URL without a user name or password (use a header for credentials)")
    }
    guard let authority = URLAuthority(rest[..<slash]) else {
      throw refusal("a URL with a host, and a port from 1 to 65535 if any")
    }
    let path = rest[slash...]
    basePath = Self.droppingSlashesAtEnd(path)
    guard Self.isPlainPath(basePath) else {
      throw refusal("a URL whose path has no \".\" or \"..\" segment and no broken escape")
    }
    self.scheme = scheme
    host = authority.host
    port = authority.port
  }

  /// Visible characters that may not stand in a URL (RFC 3986 section 2).
  private static let forbidden: [UInt8] = Array("\"<>\\^`{|}".utf8)

  /// The scheme, and the rest after `://`; nil for another scheme.
  package static func splitScheme(_ text: String) -> (Scheme, Substring)? {
    for scheme in Scheme.allCases {
      let prefix = "\(scheme.rawValue)://"
      if text.lowercased().hasPrefix(prefix) { return (scheme, text.dropFirst(prefix.utf8.count)) }
    }
    return nil
  }

  private static func droppingSlashesAtEnd(_ path: Substring) -> String {
    var path = path
    while path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
    return String(path)
  }

  /// Whether nothing in it could be read as leaving it, so that a path appended to it can be
  /// checked alone.
  private static func isPlainPath(_ path: String) -> Bool {
    path.isEmpty || TargetSyntax.refusal(of: Array(path.utf8)[...]) == nil
  }
}

/// A host and an optional port, as in a URL (RFC 3986 section 3.2, without user names).
package struct URLAuthority: Sendable {
  /// The host in lower case; an IPv6 address is in brackets.
  package let host: String
  /// The port, from 1; nil if none was given.
  package let port: UInt16?

  /// Parses a host and an optional port; nil for any other text.
  package init?(_ text: Substring) {
    var hostEnd = text.endIndex
    var port: UInt16?
    if let colon = text.lastIndex(of: ":"), text.last != "]" {
      let digits = text[text.index(after: colon)...]
      guard digits.utf8.count <= 5, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let number = UInt16(digits), number > 0
      else { return nil }
      (hostEnd, port) = (colon, number)
    }
    let host = text[..<hostEnd].lowercased()
    guard Self.isHost(host) else { return nil }
    self.host = host
    self.port = port
  }

  /// Whether a text is a name of letters, digits, `-`, `_` and `.`, or an IPv6 address in brackets.
  ///
  /// The resolver decides whether such a host exists.
  private static func isHost(_ host: String) -> Bool {
    let inside = host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast() : nil
    if let inside {
      return inside.contains(":") && inside.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    }
    return (1...253).contains(host.utf8.count)
      && host.utf8.allSatisfy {
        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
          || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
      }
  }
}

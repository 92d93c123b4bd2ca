import RelayCore

/// The address of an HTTP proxy, perhaps with a user name and a password.
package struct ProxyURL: Equatable, Sendable, CustomStringConvertible {
  /// The whole URL, for the library that connects.
  package let url: Secret
  /// The URL without its credentials.
  package let description: String

  /// Reads `http://proxy:3128` or `http://user:password@proxy:3128`; nil for anything else.
  package init?(_ text: String) {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      let (scheme, rest) = UpstreamURL.splitScheme(text)
    else { return nil }
    let address = rest.hasSuffix("/") ? rest.dropLast() : rest
    guard !address.contains(where: { "/?#".contains($0) }) else { return nil }
    let hostStart = address.lastIndex(of: "@").map(address.index(after:)) ?? address.startIndex
    guard let authority = URLAuthority(address[hostStart...]) else { return nil }
    url = Secret(text)
    let port = authority.port.map { ":\($0)" } ?? ""
    description = "\(scheme.rawValue)://\(authority.host)\(port)"
  }
}

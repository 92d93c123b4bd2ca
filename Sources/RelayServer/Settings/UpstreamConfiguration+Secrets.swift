import Forwarder
import RelayCore

// What of an upstream's configuration must not be seen.

extension UpstreamConfiguration {
  /// Words in a field's name by which its value is taken for a credential.
  private static let tellingWords = [
    "auth", "cookie", "key", "token", "secret", "password", "passwd", "credential", "session",
    "signature",
  ]

  /// The texts that nobody is to find in an answer, an error, a log, an event or on `/status`: what
  /// came from variables, `credentials`, the values of fields whose names tell of a credential, the
  /// proxy's password, and the keys that requests are signed with.
  package var hiddenTexts: [String] {
    var found = secretVariables.map(\.value)
    for header in headers where Self.tellsOfCredential(header.name) {
      found += Self.parts(ofValue: header.value.value)
    }
    if let proxy { found += proxy.credentials }
    found += credentials?.hiddenTexts ?? []
    for key in signing?.keys ?? [] { found += Self.parts(ofKey: key.value) }
    return found
  }

  /// The base URL as it may be shown: a path that came from a variable is hidden.
  package var shownURL: String {
    let isHidden = secretVariables.contains { url.basePath.contains($0.value) }
    return isHidden ? "\(url.origin)/\(Secret.placeholder)" : url.description
  }

  private static func tellsOfCredential(_ name: String) -> Bool {
    let name = name.lowercased()
    return tellingWords.contains { name.contains($0) }
  }

  /// The part behind the scheme (RFC 9110 section 11.4), or the whole; and, of `Basic`, the
  /// password.
  private static func parts(ofValue value: String) -> [String] {
    let words = value.split(separator: " ", maxSplits: 1)
    guard words.count == 2 else { return [value] }
    let credential = String(words[1])
    guard words[0].lowercased() == "basic", let decoded = try? Base64.decode(words[1].utf8) else {
      return [credential]
    }
    let pair = String(decoding: decoded, as: UTF8.self)
    let password = pair.drop { $0 != ":" }.dropFirst()
    return [credential, pair, String(password)]
  }

  private static func parts(ofKey key: String) -> [String] {
    let prefix = WebhookSigning.keyPrefix
    return [key] + (key.hasPrefix(prefix) ? [String(key.dropFirst(prefix.count))] : [])
  }
}

extension ProxyURL {
  /// The user name and the password in the forms in which they travel.
  fileprivate var credentials: [String] {
    let text = url.value
    guard let (_, rest) = UpstreamURL.splitScheme(text), let at = rest.lastIndex(of: "@") else {
      return []
    }
    let written = rest[..<at]
    // libcurl decodes the two before it sends them.
    let bytes = Array(written.utf8)
    var decoded: [UInt8] = []
    var index = 0
    while index < bytes.count {
      let (byte, next) = PercentEncoding.decodedByte(of: bytes[...], at: index)
      decoded.append(byte)
      index = next
    }
    let pair = String(decoding: decoded, as: UTF8.self)
    let encoded = Base64.text(of: decoded)
    let passwords = [String(written), pair].map { String($0.drop { $0 != ":" }.dropFirst()) }
    return passwords + [encoded]
  }
}

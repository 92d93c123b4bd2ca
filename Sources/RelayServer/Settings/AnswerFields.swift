import RelayCore

/// Which fields of an upstream's answers go on to devices.
///
/// A device asked the relay, so whoever reads the answer takes it for the relay's own: a browser
/// that keeps a cookie, a cache, or a web server in front of the relay. What would speak for the
/// relay's origin, or for its connection, is held back; `passHeaders` lets it through.
package struct AnswerFields: Sendable, Equatable {
  /// Names in lower case that pass although they would be held back.
  private let passed: [[UInt8]]

  /// The rules with some names let through.
  package init(passing names: [String] = []) {
    passed = names.map { $0.utf8.map(FieldSyntax.lowercased) }
  }

  /// Whether an upstream's field of this name goes on to the device.
  package func passes(_ name: ArraySlice<UInt8>) -> Bool {
    guard !Self.isRelaysOwn(name) else { return false }
    return !Self.isHeldBack(name) || isLetThrough(name)
  }

  /// Whether the operator lets fields of this name through.
  package func isLetThrough(_ name: ArraySlice<UInt8>) -> Bool {
    passed.contains { FieldSyntax.equalIgnoringCase($0[...], name) }
  }

  /// Whether the relay writes the field itself, or it ends at the relay: no setting lets it pass.
  package static func isRelaysOwn(_ name: ArraySlice<UInt8>) -> Bool {
    ConnectionField.isOne(name) || FieldSyntax.hasPrefix(name, "Waystation-")
      || ownNames.contains { FieldSyntax.equals(name, $0) }
  }

  private static func isHeldBack(_ name: ArraySlice<UInt8>) -> Bool {
    for prefix in heldBackPrefixes where FieldSyntax.hasPrefix(name, prefix) { return true }
    for other in heldBackNames where FieldSyntax.equals(name, other) { return true }
    return false
  }

  private static let ownNames: [StaticString] = [
    "Content-Length", "Date", "Server", "X-Content-Type-Options", "HTTP2-Settings",
  ]

  private static let heldBackPrefixes: [StaticString] = [
    // What scripts of other origins may read, and in which company pages run.
    "Access-Control-", "Cross-Origin-",
    // What a browser remembers of an origin, or loads and reports for it.
    "Content-Security-Policy", "Public-Key-Pins", "Permissions-Policy", "Document-Policy",
    "Integrity-Policy", "Service-Worker-", "Sec-", "Secure-Session-", "Accept-CH", "Critical-CH",
    "Reporting-", "Attribution-Reporting-", "Ad-Auction-",
    // Orders to a proxy or a web server in front of the relay, such as to send a file of its own.
    "Proxy-", "X-Accel-", "X-Sendfile", "X-Lighttpd-", "X-Reproxy-", "Surrogate-", "CDN-",
  ]

  private static let heldBackNames: [StaticString] = [
    "Set-Cookie", "Set-Cookie2", "Set-Login", "Clear-Site-Data", "Strict-Transport-Security",
    "Expect-CT", "Alt-Svc", "Alt-Used", "WWW-Authenticate", "Authentication-Info",
    "Authentication-Control", "Refresh", "Link", "Location", "SourceMap", "X-SourceMap", "NEL",
    "Report-To", "Timing-Allow-Origin", "Origin-Agent-Cluster", "Origin-Trial",
    "Feature-Policy", "Require-Document-Policy", "Referrer-Policy", "Speculation-Rules",
    "Supports-Loading-Mode", "No-Vary-Search", "Observe-Browsing-Topics", "Use-As-Dictionary",
    "Activate-Storage-Access", "Onion-Location", "X-Content-Security-Policy", "X-WebKit-CSP",
    "X-Frame-Options", "X-XSS-Protection", "X-Permitted-Cross-Domain-Policies",
    "X-DNS-Prefetch-Control", "X-UA-Compatible", "P3P", "Tk",
    // How long who may keep the answer: here it belongs to one envelope, and to nobody's cache.
    "Cache-Control", "Expires", "Pragma", "Age",
  ]
}

import EventLoop
import HTTPServer

/// Tells requests that their sender made from those that a browser makes for some website.
///
/// A browser lets every site send requests anywhere, and adds by itself what the browser's machine
/// is known by: its address, or a certificate. It says where they come from (`Origin`, RFC 6454
/// section 7; `Sec-Fetch-Site`, Fetch Metadata Request Headers section 2.3). A site whose name is
/// made to mean the relay's address (DNS rebinding) has them come from the relay's own origin as
/// the browser sees it; but they name the site's host, and not one of the relay's.
package struct OriginPolicy: Equatable, Sendable {
  /// Why a request is not taken for its sender's.
  package enum Refusal: Equatable, Sendable {
    /// It names a host by which the relay is not known.
    case unknownHost(String)
    /// A browser sends it for another site, which said so.
    case otherSite(String)
  }

  /// The fields of a head that tell its origin.
  private struct Findings {
    var host: ArraySlice<UInt8>?
    var origins: [ArraySlice<UInt8>] = []
    var sites: [ArraySlice<UInt8>] = []

    init(_ head: RequestHead) {
      for field in head.fields {
        switch head.name(of: field).count {
        case 4 where head.isNamed(field, "Host"): host = head.value(of: field)
        case 6 where head.isNamed(field, "Origin"): origins.append(head.value(of: field))
        case 14 where head.isNamed(field, "Sec-Fetch-Site"): sites.append(head.value(of: field))
        default: break
        }
      }
      if let authority = head.authority { host = authority }
    }
  }

  private let hosts: [KnownHost]

  /// A policy that knows these hosts besides those that are this machine's in any case.
  package init(hosts: [KnownHost]) { self.hosts = hosts }

  /// Why a request that shows no credential is not taken for its sender's; nil where it is.
  ///
  /// - Parameters:
  ///   - local: The relay's own address on the connection; nil for a Unix socket.
  ///   - isSecured: Whether the connection is TLS.
  package func refusal(
    of head: RequestHead, to local: SocketAddress.Host?, isSecured: Bool
  ) -> Refusal? {
    let findings = Findings(head)
    // No browser sends HTTP/1.0, and so none leaves the host out.
    if let host = findings.host, !isKnown(host, local) {
      return .unknownHost(String(decoding: host, as: UTF8.self))
    }
    return siteRefusal(findings, isSecured: isSecured)
  }

  /// The same of a request that shows a certificate, which the relay's own name has vouched for.
  package func siteRefusal(of head: RequestHead, isSecured: Bool) -> Refusal? {
    siteRefusal(Findings(head), isSecured: isSecured)
  }

  private func siteRefusal(_ findings: Findings, isSecured: Bool) -> Refusal? {
    for site in findings.sites
    where !site.elementsEqual("same-origin".utf8) && !site.elementsEqual("none".utf8) {
      let origin = findings.origins.first ?? site
      return .otherSite(String(decoding: origin, as: UTF8.self))
    }
    for origin in findings.origins where !isOwn(origin, findings.host, isSecured: isSecured) {
      return .otherSite(String(decoding: origin, as: UTF8.self))
    }
    return nil
  }

  /// Whether the relay is known by a host.
  ///
  /// An address counts as one of its own if it is the one that the connection came to.
  private func isKnown(_ host: ArraySlice<UInt8>, _ local: SocketAddress.Host?) -> Bool {
    guard let authority = Authority(host) else { return false }
    if let address = authority.address?.unmapped {
      let own = SocketAddress(host: address, port: 0)
      if own.isLoopback || own.isUnspecified || address == local?.unmapped { return true }
    } else if authority.isLocalName {
      return true
    }
    return hosts.contains { $0.covers(authority) }
  }

  /// Whether a page of this origin came from the relay itself.
  private func isOwn(
    _ origin: ArraySlice<UInt8>, _ host: ArraySlice<UInt8>?, isSecured: Bool
  ) -> Bool {
    let rest: ArraySlice<UInt8>
    if origin.starts(with: "https://".utf8) {
      rest = origin.dropFirst(8)
    } else if origin.starts(with: "http://".utf8), !isSecured {
      rest = origin.dropFirst(7)
    } else {
      return false
    }
    guard let authority = Authority(rest) else { return false }
    if let host, Authority(host)?.isSame(as: authority) == true { return true }
    return hosts.contains { $0.isOrigin(authority) }
  }
}

extension SocketAddress.Host {
  /// An IPv4 address also where it came as an IPv6 one (RFC 4291 section 2.5.5.2).
  fileprivate var unmapped: Self {
    guard case .ipv6(0, let low) = self, low >> 32 == 0xFFFF else { return self }
    return .ipv4(UInt32(truncatingIfNeeded: low))
  }
}

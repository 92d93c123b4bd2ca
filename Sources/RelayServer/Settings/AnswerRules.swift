import RelayCore

/// The rules on an upstream's answers to devices.
package struct AnswerRules: Sendable, Equatable {
  /// The upstream's name.
  package let upstream: String
  /// The upstream's URL; nil if it is not configured any more, or is another relay.
  package let url: UpstreamURL?
  /// Which fields pass.
  package let fields: AnswerFields

  /// The rules for an upstream.
  package init(upstream: String, url: UpstreamURL?, fields: AnswerFields = AnswerFields()) {
    self.upstream = upstream
    self.url = url
    self.fields = fields
  }

  /// The place at which a device finds what the upstream's `Location` names (RFC 9110 section
  /// 10.2.2): on the relay's own route to that upstream.
  ///
  /// As it stands, a relative one would be read against the relay, and could have a device that
  /// follows it call the relay's own API; and an absolute one names a place that the device may not
  /// be able, or not be meant, to reach.
  ///
  /// - Parameter target: What the upstream was asked for.
  /// - Returns: nil if it points outside of the base URL.
  package func location(_ location: ArraySlice<UInt8>, from target: [UInt8]) -> [UInt8]? {
    // Counted from the beginning: what comes in is a part of something longer.
    guard let url, let resolved = resolved(location, from: target, url).map(Array.init) else {
      return nil
    }
    let end = resolved.firstIndex(of: UInt8(ascii: "#")) ?? resolved.endIndex
    let base = Array(url.basePath.utf8)
    guard resolved.starts(with: base) else { return nil }
    var rest = resolved[base.count..<end]
    if rest.isEmpty || rest.first == UInt8(ascii: "?") { rest = [UInt8(ascii: "/")] + rest }
    guard TargetSyntax.refusal(of: rest) == nil else { return nil }
    return Array("/v1/relay/\(upstream)".utf8) + rest + resolved[end...]
  }

  /// Path, query and fragment of what a reference names on this upstream's host (RFC 3986 section
  /// 5.2); nil if it names another one.
  private func resolved(
    _ reference: ArraySlice<UInt8>, from target: [UInt8], _ url: UpstreamURL
  ) -> ArraySlice<UInt8>? {
    guard reference.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\\") }) else {
      return nil
    }
    for scheme in UpstreamURL.Scheme.allCases {
      let prefix = Array("\(scheme.rawValue)://".utf8)
      guard FieldSyntax.equalIgnoringCase(reference.prefix(prefix.count), prefix[...]) else {
        continue
      }
      return path(behind: reference.dropFirst(prefix.count), scheme, url)
    }
    if reference.starts(with: "//".utf8) {
      return path(behind: reference.dropFirst(2), url.scheme, url)
    }
    if reference.first == UInt8(ascii: "/") { return reference }
    let segment = reference.prefix { !"/?#".utf8.contains($0) }
    guard !segment.contains(UInt8(ascii: ":")) else { return nil }
    return merged(reference, with: Array(url.basePath.utf8) + target)
  }

  /// The path behind an authority, if that is the upstream's.
  private func path(
    behind text: ArraySlice<UInt8>, _ scheme: UpstreamURL.Scheme, _ url: UpstreamURL
  ) -> ArraySlice<UInt8>? {
    let end = text.firstIndex { "/?#".utf8.contains($0) } ?? text.endIndex
    let words = String(decoding: text[..<end], as: UTF8.self)
    guard scheme == url.scheme, let authority = URLAuthority(words[...]),
      authority.host == url.host,
      authority.port ?? scheme.defaultPort == url.port ?? scheme.defaultPort
    else { return nil }
    let rest = text[end...]
    return rest.first == UInt8(ascii: "/") ? rest : [UInt8(ascii: "/")] + rest
  }

  /// A relative path, query or fragment behind what was asked for (RFC 3986 sections 5.2.3, 5.2.4).
  private func merged(
    _ reference: ArraySlice<UInt8>, with target: [UInt8]
  ) -> ArraySlice<UInt8> {
    let path = target.prefix { $0 != UInt8(ascii: "?") }
    switch reference.first {
    case nil: return target[...]
    case UInt8(ascii: "?"): return path + reference
    case UInt8(ascii: "#"): return target + reference
    default: break
    }
    let end = reference.firstIndex { "?#".utf8.contains($0) } ?? reference.endIndex
    let slash = UInt8(ascii: "/")
    var segments = path.split(separator: slash, omittingEmptySubsequences: false).dropLast()
    let added = reference[..<end].split(separator: slash, omittingEmptySubsequences: false)
    for (index, segment) in added.enumerated() {
      let isLast = index == added.count - 1
      if segment.elementsEqual("..".utf8) {
        // The first is the empty one before the first slash.
        if segments.count > 1 { segments.removeLast() }
        if isLast { segments.append([]) }
      } else if segment.elementsEqual(".".utf8) {
        if isLast { segments.append([]) }
      } else {
        segments.append(segment)
      }
    }
    return ArraySlice(segments.joined(separator: [slash])) + reference[end...]
  }
}

extension UpstreamURL.Scheme {
  /// The port where a URL names none (RFC 9110 sections 4.2.1 and 4.2.2).
  fileprivate var defaultPort: UInt16 {
    switch self {
    case .http: 80
    case .https: 443
    }
  }
}

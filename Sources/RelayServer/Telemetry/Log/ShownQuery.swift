import HTTPServer

/// A request's query, as the access log shows it: names, and the values of those parameters that
/// the relay itself defines.
///
/// A query of an envelope may hold tokens, signatures or a person's data, and so may one that was
/// sent to the wrong place.
package enum ShownQuery {
  /// The text in place of a value.
  static let hidden: [UInt8] = Array("(hidden)".utf8)

  /// The relay's own parameters; none of them takes a secret.
  private static let known: Set<String> = [
    "after", "client", "cursor", "dryRun", "envelope", "lane", "limit", "search", "span", "state",
    "subject", "tag", "upstream", "wait",
  ]

  /// The query with its values hidden.
  ///
  /// - Parameter isRelayed: Whether it goes on to an upstream, so that none of it is the relay's.
  package static func text(_ query: ArraySlice<UInt8>, isRelayed: Bool) -> String {
    var shown: [UInt8] = []
    let pairs = query.split(separator: 0x26, omittingEmptySubsequences: false)
    for (index, pair) in pairs.enumerated() {
      if index > 0 { shown.append(0x26) }
      guard let equals = pair.firstIndex(of: 0x3D) else {
        // Without a name it may be a secret by itself.
        if !pair.isEmpty { shown += hidden }
        continue
      }
      shown += pair[...equals]
      let name = String(decoding: pair[..<equals], as: UTF8.self)
      shown += !isRelayed && known.contains(name) ? Array(pair[(equals + 1)...]) : hidden
    }
    return String(decoding: shown, as: UTF8.self)
  }
}

import JSON
import RelayCore

/// Which envelopes are asked about: the body of `POST /v1/envelopes/query`.
package struct FateQuestion: Sendable {
  /// The ids and then the keys, in the order in which they were given.
  package let references: [EnvelopeReference]

  /// The ids alone.
  package var ids: [EnvelopeID] {
    references.compactMap { if case .id(let id) = $0 { id } else { nil } }
  }

  /// The most envelopes of one question.
  package static let countMax = 1000

  /// Reads the body; nil stands for none.
  ///
  /// - Parameter sender: The client that asks, where a credential says which; no other may be named
  ///   then.
  /// - Throws: `malformed-json`, `unknown-field`, `invalid-field`, `missing-field` or `forbidden`.
  package init(_ text: [UInt8]?, from sender: String? = nil) throws(Problem) {
    var ids: [EnvelopeID]?
    var keys: [String]?
    var client: String?
    try CommandTerms.forEach(of: text, ["ids", "client", "keys"]) { member throws(Problem) in
      switch member.name {
      case "ids": ids = try Self.ids(member.value)
      case "keys": keys = try Self.keys(member.value)
      default: client = try Self.name(member.value, "/client")
      }
    }
    // Whoever asks for ids alone need name nobody.
    if keys != nil || client != nil {
      client = try Caller.client(client, of: sender, field: "/client")
    }
    try Self.check(hasIDs: ids != nil, hasKeys: keys != nil, hasClient: client != nil)
    let named = (keys ?? []).map { EnvelopeReference.key($0, client: client ?? "") }
    references = (ids ?? []).map { .id($0) } + named
    guard references.count <= Self.countMax else { throw Self.tooMany("") }
  }

  private static func check(hasIDs: Bool, hasKeys: Bool, hasClient: Bool) throws(Problem) {
    guard hasIDs || hasKeys else {
      throw .missingField(
        hasClient ? "/keys" : "/ids", "The body names no envelopes.",
        fix: #"Send {"ids": [...]}, or {"client": "...", "keys": [...]}, or both."#)
    }
    guard hasKeys != hasClient else { return }
    throw hasKeys
      ? .missingField(
        "/client", "Keys are a client's own, and the body names no client.",
        fix: "Name the client whose keys these are.")
      : .missingField(
        "/keys", "The body names a client, and none of its keys.",
        fix: "Give the keys, or leave client out.")
  }

  private static func ids(_ value: JSONValue) throws(Problem) -> [EnvelopeID] {
    var ids: [EnvelopeID] = []
    for element in try array(value, "ids") {
      guard ids.count < countMax else { throw tooMany("/ids") }
      guard let text = try? element.string(), let id = EnvelopeID(parsing: text) else {
        throw .invalidField(
          "/ids/\(ids.count)", "Here stands \(element.shown); it has to be an envelope's id.",
          fix: "Give ids as the relay gave them.")
      }
      ids.append(id)
    }
    return ids
  }

  private static func keys(_ value: JSONValue) throws(Problem) -> [String] {
    var keys: [String] = []
    for element in try array(value, "keys") {
      guard keys.count < countMax else { throw tooMany("/keys") }
      keys.append(try name(element, "/keys/\(keys.count)"))
    }
    return keys
  }

  private static func array(_ value: JSONValue, _ field: String) throws(Problem) -> JSONArray {
    guard let array = try? value.array() else {
      throw .invalidField("/\(field)", "\(field) is \(value.shown); it has to be an array.")
    }
    return array
  }

  private static func name(_ value: JSONValue, _ field: String) throws(Problem) -> String {
    guard let name = try? value.string(), NameSyntax.isName(Array(name.utf8)[...]) else {
      throw .invalidField(field, "Here stands \(value.shown); it has to be \(NameSyntax.rule).")
    }
    return name
  }

  private static func tooMany(_ field: String) -> Problem {
    .invalidField(
      field, "The body may name \(countMax) envelopes at the most, ids and keys together.",
      fix: "Ask in several calls.")
  }
}

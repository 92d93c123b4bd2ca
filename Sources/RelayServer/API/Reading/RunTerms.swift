import JSON
import RelayCore

/// The terms of a run: the body of `POST /v1/clients/{client}/run`.
package struct RunTerms: Sendable {
  /// Which of the client's waiting envelopes.
  package let filter: RunFilter

  /// The most ids of one run.
  package static let idsMax = 1000

  private static let names = ["collection", "lane", "tag", "ids"]

  /// Reads the body; nil stands for none, and so for all that waits.
  ///
  /// - Throws: `malformed-json`, `unknown-field` or `invalid-field`.
  package init(_ text: [UInt8]?) throws(Problem) {
    var filter: RunFilter?
    var first = ""
    try CommandTerms.forEach(of: text, Self.names) { member throws(Problem) in
      let name = member.name.string
      guard filter == nil else {
        throw .invalidField(
          "/\(name)", "The body gives both \(first) and \(name); a run has one filter at the most.",
          fix: "Give one of \(Self.names.joined(separator: ", ")), or none for all that waits.")
      }
      first = name
      filter = try Self.filter(name, member.value)
    }
    self.filter = filter ?? .everything
  }

  private static func filter(_ name: String, _ value: JSONValue) throws(Problem) -> RunFilter {
    if name == "ids" { return .ids(try ids(value)) }
    guard let text = try? value.string(), NameSyntax.isName(Array(text.utf8)[...]) else {
      throw .invalidField(
        "/\(name)", "Here stands \(value.shown); it has to be \(NameSyntax.rule).")
    }
    switch name {
    case "collection": return .collection(text)
    case "lane": return .lane(text)
    default: return .tag(text)
    }
  }

  private static func ids(_ value: JSONValue) throws(Problem) -> Set<EnvelopeID> {
    guard let array = try? value.array() else {
      throw .invalidField("/ids", "ids is \(value.shown); it has to be an array.")
    }
    var ids: Set<EnvelopeID> = []
    var count = 0
    for element in array {
      guard count < idsMax else {
        throw .invalidField(
          "/ids", "A run may name \(idsMax) envelopes at the most.", fix: "Run them in parts.")
      }
      guard let text = try? element.string(), let id = EnvelopeID(parsing: text) else {
        throw .invalidField(
          "/ids/\(count)", "Here stands \(element.shown); it has to be an envelope's id.",
          fix: "Give ids as the relay gave them.")
      }
      ids.insert(id)
      count += 1
    }
    guard count > 0 else {
      throw .invalidField(
        "/ids", "ids is empty, so there is nothing to run.",
        fix: "Name at least one envelope, or leave ids out for all that waits.")
    }
    return ids
  }
}

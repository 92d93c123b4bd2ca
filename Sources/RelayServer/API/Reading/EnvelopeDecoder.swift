import Cryptography
import JSON
import RelayCore

/// Turns one envelope in JSON (`Envelope` in `openapi.yaml`) into a draft for the store.
///
/// Unknown fields are refused by name, bad values by their JSON pointer; the first one decides.
package struct EnvelopeDecoder: Sendable {
  private let rules: AcceptanceRules

  /// A decoder under the configuration's rules.
  package init(_ rules: AcceptanceRules) { self.rules = rules }

  /// The envelope that a text, or the item of a batch in `range`, stands for.
  ///
  /// - Parameters:
  ///   - sender: The client that sends it, where a credential says which; no other may be named
  ///     then.
  ///   - client: The client that it counts as if neither a credential nor the envelope says one.
  ///   - arrival: When it came.
  ///   - line: Says in which line an item begins; asked only about what is no JSON.
  package func decode(
    _ text: [UInt8], in range: Range<Int>? = nil, from sender: String? = nil,
    assuming client: String? = nil, at arrival: ArrivalTime,
    line: (Range<Int>) -> Int? = { _ in nil }
  ) throws(Problem) -> EnvelopeDraft {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue.parse(text, in: range)
    } catch {
      guard let range else { throw .malformedJSON(error, in: text[...]) }
      throw .malformedJSON(error, in: text[range], from: line(range))
    }
    return try decode(value, from: sender, assuming: client, at: arrival)
  }

  /// The envelope that a JSON value stands for.
  package func decode(
    _ value: JSONValue, from sender: String? = nil, assuming client: String? = nil,
    at arrival: ArrivalTime
  ) throws(Problem) -> EnvelopeDraft {
    guard let object = try? value.object() else {
      throw .invalidField(
        "", "An envelope is an object, but here stands \(value.kind.inWords).",
        fix: "Send an object with at least client and path.")
    }
    var fields = EnvelopeFields(rules: rules)
    for member in object { try fields.read(member) }
    if sender == nil, fields.terms.client == nil { fields.terms.client = client }
    if fields.isVoid { return try void(fields, object, from: sender, at: arrival) }
    return try draft(of: fields, from: sender, at: arrival)
  }

  /// A number that counts as come without an envelope.
  private func void(
    _ fields: EnvelopeFields, _ object: JSONObject, from sender: String?, at arrival: ArrivalTime
  ) throws(Problem) -> EnvelopeDraft {
    let names = ["void", "client", "lane", "sequence"]
    for member in object where !names.contains(member.name.string) {
      let name = member.name.string
      throw .invalidField(
        "/\(JSONPointer.escape(name))", "What is void is not sent, and has no \(name.quoted).",
        fix: "Send client, lane and sequence beside void, and nothing else.")
    }
    guard let client = try Caller.client(fields.terms.client, of: sender, field: "/client") else {
      throw .missingField(
        "/client", "The void number has no client.", fix: "Say in client whose number it is.")
    }
    guard let number = fields.terms.sequence else {
      throw .missingField(
        "/sequence", "void is true, and no number is named.",
        fix: "Say in sequence which number of the lane is not to be waited for.")
    }
    var draft = EnvelopeDraft(
      client: client, lane: fields.terms.lane ?? LaneSyntax.defaultName, upstream: "",
      content: EnvelopeContent(
        method: "", target: [], headers: HeaderBlock(), body: .inline([])),
      expiresAt: .never)
    draft.sequence = number
    draft.isVoid = true
    try rules.holdToLane(&draft, from: arrival, .json)
    return draft
  }

  private func draft(
    of fields: EnvelopeFields, from sender: String?, at arrival: ArrivalTime
  ) throws(Problem) -> EnvelopeDraft {
    let terms = fields.terms
    try terms.checkSpans(.json)
    let references = terms.references ?? false
    guard let client = try Caller.client(terms.client, of: sender, field: "/client") else {
      throw .missingField(
        "/client", "The envelope has no client.", fix: "Say in client who sends the envelope.")
    }
    guard let path = try fields.target(references: references) else {
      throw .missingField(
        "/path", "The envelope has no path.",
        fix: "Give the path that the request is for, beginning with a slash.")
    }
    guard let upstream = fields.upstream ?? rules.defaultUpstream else {
      throw .missingField(
        "/upstream",
        "The envelope names no upstream, and of the configured ones none is called default.",
        fix: "Say in upstream where it goes; GET /status lists them to operators.")
    }
    let (headers, body) = try fields.content()
    try upstream.checkPart(headers, field: "/headers/Content-Range")
    var draft = EnvelopeDraft(
      terms, of: client, to: upstream,
      EnvelopeContent(
        method: fields.method, target: path, headers: headers, body: .inline(body)),
      at: arrival)
    if draft.coalesce != nil, draft.sequence != nil { throw .coalesceWithSequence("/coalesce") }
    if draft.references {
      try draft.content.checkReferences(.json, bodyBytesMax: rules.limits.spoolThresholdBytes)
    }
    try rules.holdToLane(&draft, from: arrival, made: terms.relative, .json)
    if draft.key != nil || draft.sequence != nil {
      var print = Fingerprint(of: draft, saying: terms)
      print.update(body)
      draft.fingerprint = print.finish()
    }
    if rules.makesReceipts, draft.sequence != nil {
      draft.cover(bodyDigest: SHA256.digest(of: body))
    }
    return draft
  }
}

import HTTPServer
import RelayCore

/// Turns a request on `/v1/relay/{upstream}/{path…}` into a draft for the store: the request itself
/// is the envelope, and its `Waystation-*` fields say the rest.
package struct RelayRequestDecoder: Sendable {
  private let rules: AcceptanceRules

  /// A decoder under the configuration's rules.
  package init(_ rules: AcceptanceRules) { self.rules = rules }

  /// An envelope without its body, which is still to be read.
  package struct Decoded: Sendable {
    /// The envelope; its body is empty, and it has no fingerprint yet.
    package var draft: EnvelopeDraft
    /// What its sender said.
    fileprivate let terms: EnvelopeTerms

    /// The beginning of the fingerprint; the body is to be added.
    package func fingerprint() -> Fingerprint {
      Fingerprint(of: draft, saying: terms)
    }

    /// The bytes that it begins with.
    func said() -> [UInt8] { Fingerprint.said(of: draft, saying: terms) }
  }

  /// The envelope that a request is.
  ///
  /// - Parameters:
  ///   - upstream: The segment of the path that names the upstream.
  ///   - rest: What follows that segment and its slash, byte for byte, the query left out.
  ///   - sender: The client that sends it, where a credential says which; no other may be named
  ///     then.
  ///   - arrival: When it came.
  package func decode(
    _ head: RequestHead, upstream: ArraySlice<UInt8>, rest: ArraySlice<UInt8>,
    from sender: String? = nil, at arrival: ArrivalTime
  ) throws(Problem) -> Decoded {
    let name = String(decoding: upstream, as: UTF8.self)
    guard let upstream = rules.upstream(named: name) else {
      throw .unknownUpstream(name, field: nil)
    }
    let method = head.method.description
    guard !MethodSyntax.isTrace(method.utf8.span) else { throw .traceNotRelayed() }
    guard MethodSyntax.isMethod(method.utf8Span.span) else {
      throw .invalidField(
        "method", "The method is \(method.quoted); it has to be \(MethodSyntax.rule).")
    }
    let target = Self.target(rest, query: head.query)
    var fields = try RelayedFields(head)
    for field in head.fields { try fields.read(head.name(of: field), head.value(of: field)) }
    try fields.finish(rules.limits)
    let terms = fields.terms
    try terms.checkSpans(.relayed)
    let references = terms.references ?? false
    if !references, let refusal = TargetSyntax.refusal(of: target[...]) {
      throw .invalidField("path", "The path for the upstream \(refusal).")
    }
    guard let client = try Caller.client(terms.client, of: sender, field: "Waystation-Client")
    else {
      throw .missingField(
        "Waystation-Client", "The request has no Waystation-Client field.",
        fix: "Say in Waystation-Client who sends the envelope.")
    }
    guard let headers = fields.lines.block else { throw .internalError() }
    try upstream.checkPart(headers, field: "Content-Range")
    var draft = EnvelopeDraft(
      terms, of: client, to: upstream,
      EnvelopeContent(method: method, target: target, headers: headers, body: .inline([])),
      at: arrival)
    if draft.coalesce != nil, draft.sequence != nil {
      throw .coalesceWithSequence("Waystation-Coalesce")
    }
    // The body is looked through once it is there; a bad path need not wait for it.
    if references { try draft.content.checkReferences(.relayed) }
    try rules.holdToLane(&draft, from: arrival, made: terms.relative, .relayed)
    return Decoded(draft: draft, terms: terms)
  }

  private static func target(_ rest: ArraySlice<UInt8>, query: ArraySlice<UInt8>?) -> [UInt8] {
    var target: [UInt8] = []
    target.reserveCapacity(rest.count + (query?.count ?? 0) + 2)
    target.append(UInt8(ascii: "/"))
    target.append(contentsOf: rest)
    if let query {
      target.append(UInt8(ascii: "?"))
      target.append(contentsOf: query)
    }
    return target
  }
}

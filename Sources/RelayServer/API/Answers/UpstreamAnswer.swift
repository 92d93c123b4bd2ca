import HTTPServer
import RelayCore

/// The upstream's answer, passed on to the device.
package struct UpstreamAnswer: Sendable {
  /// The envelope that was answered.
  package let id: EnvelopeID
  /// The envelope's state.
  package let state: EnvelopeState
  /// The rules on its upstream's answers.
  package let rules: AnswerRules
  /// The target of the request that was answered.
  package let target: [UInt8]

  /// The answer to an envelope.
  ///
  /// - Parameter rules: What is configured for its upstream.
  package init(to record: EnvelopeRecord, _ rules: AnswerRules) {
    self.init(
      id: record.id, state: record.state, target: record.draft.content.target, rules: rules)
  }

  /// The answer to an envelope, given part by part.
  package init(id: EnvelopeID, state: EnvelopeState, target: [UInt8], rules: AnswerRules) {
    self.id = id
    self.state = state
    self.target = target
    self.rules = rules
  }

  /// An answer with the upstream's body and those of its fields that may pass.
  ///
  /// - Parameters:
  ///   - status: The status of the answer to the device: the upstream's, or 200 where only its
  ///     content was asked for.
  ///   - isToHead: Whether the device asked by HEAD. Then nobody knows how long the content would
  ///     be, and no `Content-Length` may claim that it is empty (RFC 9110 section 8.6).
  package func response(
    _ answer: UpstreamResponse, status: Int, isToHead: Bool = false
  ) -> HTTPResponse {
    var response = HTTPResponse(
      status: status, body: isToHead ? .stream({ _ in }) : .bytes(answer.body))
    for field in fields(of: answer) { response.headers.add(name: field.name, value: field.value) }
    response.headers.add("Waystation-Id", id.description)
    response.headers.add("Waystation-State", state.rawValue)
    response.headers.add("Waystation-Upstream-Status", answer.status)
    if answer.isTruncated { response.headers.add("Waystation-Response-Truncated", "true") }
    addOriginFields(to: &response)
    return response
  }

  /// Those fields of the upstream's answer that pass on to the device.
  package func fields(of answer: UpstreamResponse) -> RelayCore.HeaderBlock {
    var fields = RelayCore.HeaderBlock()
    let listed = Self.connectionNames(in: answer.headers)
    for field in answer.headers
    where !listed.contains(where: { FieldSyntax.equalIgnoringCase($0, field.name) }) {
      if rules.fields.passes(field.name) {
        fields.append(name: field.name, value: field.value)
      } else if field.isNamed("Location") {
        addLocation(field.value, to: &fields)
      }
    }
    return fields
  }

  /// Adds the upstream's `Location`: on the relay's route to that upstream, or in a field of its
  /// own, so that nobody follows it elsewhere automatically.
  private func addLocation(_ value: ArraySlice<UInt8>, to fields: inout RelayCore.HeaderBlock) {
    if let location = rules.location(value, from: target) {
      fields.append(name: "Location".utf8, value: location)
    } else {
      fields.append(name: "Waystation-Upstream-Location".utf8, value: value)
    }
  }

  /// An upstream's content must not run in a browser as the relay's own page, be cached for
  /// somebody else, or be read by another origin.
  private func addOriginFields(to response: inout HTTPResponse) {
    if !rules.fields.isLetThrough(Array("cache-control".utf8)[...]) {
      response.headers.add("Cache-Control", "no-store")
    }
    response.headers.add("X-Content-Type-Options", "nosniff")
    response.headers.add("Content-Security-Policy", "sandbox; default-src 'none'")
    response.headers.add("Cross-Origin-Resource-Policy", "same-origin")
  }

  private static func connectionNames(
    in headers: RelayCore.HeaderBlock
  ) -> [ArraySlice<UInt8>] {
    var names: [ArraySlice<UInt8>] = []
    for field in headers where field.isNamed("Connection") {
      names += ConnectionField.names(in: field.value)
    }
    return names
  }
}

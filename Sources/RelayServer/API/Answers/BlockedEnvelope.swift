import JSON
import RelayCore

/// An envelope that blocks its lane until somebody resolves it, as its client is told of it.
package struct BlockedEnvelope: Sendable {
  /// The envelope.
  package let summary: EnvelopeSummary
  /// What the upstream says of the mistake; nil if it says nothing, or was not looked up.
  package var error: ErrorDocument?
  /// Since when the lane stands; nil if that is not known, or was not looked up.
  package var blockedAt: WallTime?

  /// The most of one answer of which everything is looked up.
  ///
  /// Of those beyond, what every envelope's record says is told.
  package static let detailedMax = 20

  /// Shows a blocked envelope.
  package init(_ summary: EnvelopeSummary) { self.summary = summary }

  /// What a person is shown (`Attention` in `openapi.yaml`).
  func writeForPerson(to json: inout JSONWriter) {
    let path = "/v1/envelopes/\(summary.id)"
    json.object { json in
      json.member("lane", summary.terms.lane)
      if let tag = summary.terms.tag { json.member("tag", tag) }
      json.member("upstream", summary.terms.upstream)
      writeMembers(to: &json)
      json.member(
        "fix",
        "GET \(path)/response shows what the upstream said. Correct the envelope with PATCH"
          + " \(path) if need be; then POST {\"action\": \"retry\"} or"
          + " {\"action\": \"discard\"} to \(path)/resolve.\(byKey)")
    }
  }

  /// A sentence on its path by its client's own key; empty if it has none.
  private var byKey: String {
    guard let key = summary.terms.key else { return "" }
    let names = [summary.terms.client, key].map {
      String(decoding: PercentEncoding.encode($0.utf8), as: UTF8.self)
    }
    return " /v1/clients/\(names[0])/envelopes/\(names[1]) names the same envelope."
  }

  /// What a device is told of its lane (`BlockedBy` in `openapi.yaml`).
  func writeForDevice(to json: inout JSONWriter) {
    json.memberObject("blockedBy", writeMembers)
  }

  /// What both are told, in the same words.
  private func writeMembers(to json: inout JSONWriter) {
    json.member("id", summary.id.description)
    if let key = summary.terms.key { json.member("key", key) }
    if let sequence = summary.terms.sequence { json.member("sequence", sequence) }
    if let status = summary.fate.responseStatus { json.member("responseStatus", status) }
    json.member("reason", summary.fate.reason ?? Self.unknownReason)
    if let error { json.members(error) }
    if let blockedAt { json.member("blockedAt", blockedAt) }
  }

  /// Why a lane stands of which the store knows no reason.
  static let unknownReason = "the upstream refused it"
}

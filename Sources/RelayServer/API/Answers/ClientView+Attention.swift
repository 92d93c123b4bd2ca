import JSON
import RelayCore

extension ClientView {
  /// An envelope that blocks its lane until a person settles it.
  package struct Attention: Sendable {
    private let summary: EnvelopeSummary
    private let errorID: String?

    /// Shows a blocked envelope.
    ///
    /// - Parameter errorID: What the upstream calls the mistake; nil if it has no name.
    package init(_ summary: EnvelopeSummary, errorID: String?) {
      self.summary = summary
      self.errorID = errorID
    }

    func write(to json: inout JSONWriter) {
      let path = "/v1/envelopes/\(summary.id)"
      json.object { json in
        json.member("id", summary.id.description)
        json.member("lane", summary.terms.lane)
        if let key = summary.terms.key { json.member("key", key) }
        if let tag = summary.terms.tag { json.member("tag", tag) }
        json.member("upstream", summary.terms.upstream)
        if let status = summary.fate.responseStatus { json.member("responseStatus", status) }
        if let reason = summary.fate.reason { json.member("reason", reason) }
        if let errorID { json.member("errorId", errorID) }
        json.member(
          "fix",
          "GET \(path)/response shows what the upstream said. Correct the envelope with PATCH"
            + " \(path) if need be; then POST {\"action\": \"retry\"} or"
            + " {\"action\": \"discard\"} to \(path)/resolve.")
      }
    }
  }
}

import HTTPServer
import RelayCore

/// The trace of a post to `/v1/envelopes`, which is that of each of its envelopes that names none.
///
/// HTTP libraries write `traceparent` into the request that they make, and what a device's work
/// leads to is that request and all that it carries.
struct PostTrace {
  /// `traceparent`, and what goes with it; empty if the post names no trace.
  private var fields: [(name: StaticString, value: ArraySlice<UInt8>)] = []

  /// Reads a request's own fields; those that are malformed, or hold a credential, count as absent.
  init(_ head: RequestHead) {
    let parents = head.values(of: "traceparent")
    guard parents.count == 1, TraceParent.traceID(of: Array(parents[0])) != nil else { return }
    fields.append(("traceparent", parents[0]))
    for state in head.values(of: "tracestate") where !AccessToken.isHeld(in: state) {
      fields.append(("tracestate", state))
    }
  }

  /// Gives an envelope without a trace this one.
  func join(_ draft: inout EnvelopeDraft) {
    guard !fields.isEmpty, !TraceParent.isPresent(in: draft.content.headers) else { return }
    for field in fields {
      draft.content.headers.append(name: Array("\(field.name)".utf8), value: field.value)
    }
  }
}

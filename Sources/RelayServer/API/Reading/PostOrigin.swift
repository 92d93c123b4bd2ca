import HTTPServer
import RelayCore

/// What a post to `/v1/envelopes` says of each envelope that it carries: its trace, and its way.
///
/// HTTP libraries write `traceparent` into the request that they make, and what a device's work
/// leads to is that request and all that it carries. Its trace is that of each envelope that names
/// none. The relays that it came through are those that each envelope came through.
struct PostOrigin {
  /// `traceparent`, and what goes with it; empty if the post names no trace.
  private var trace: [Field] = []
  /// `Via`; nil if the post came through no relay.
  private let way: [UInt8]?

  private typealias Field = (name: StaticString, value: ArraySlice<UInt8>)

  /// Reads a request's own fields; those of a trace that are malformed, or hold a credential, count
  /// as absent.
  ///
  /// - Parameter pseudonym: The relay's own name in `Via`.
  /// - Throws: `relay-loop`.
  init(_ head: RequestHead, at pseudonym: String) throws(Problem) {
    way = try Via(head, at: pseudonym).fieldValue
    let parents = head.values(of: "traceparent")
    guard parents.count == 1, TraceParent.traceID(of: Array(parents[0])) != nil else { return }
    trace.append(("traceparent", parents[0]))
    for state in head.values(of: "tracestate") where !AccessToken.isHeld(in: state) {
      trace.append(("tracestate", state))
    }
  }

  /// Gives an envelope the way of its post, and the trace if it has none.
  func join(_ draft: inout EnvelopeDraft) {
    if let way { append(("Via", way[...]), to: &draft) }
    guard !trace.isEmpty, !TraceParent.isPresent(in: draft.content.headers) else { return }
    for field in trace { append(field, to: &draft) }
  }

  private func append(_ field: Field, to draft: inout EnvelopeDraft) {
    draft.content.headers.append(name: Array("\(field.name)".utf8), value: field.value)
  }
}

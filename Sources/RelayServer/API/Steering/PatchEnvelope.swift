import HTTPServer
import RelayCore

/// `PATCH /v1/envelopes/{id}`: correct one that waits, also one that blocks its lane, or one
/// that ended undelivered, where it lies.
struct PatchEnvelope {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest, _ captures: PathCaptures) async throws(Problem)
    -> HTTPResponse
  {
    let id = try await context.envelopeID(captures)
    try CommandBody.check(
      request.head, isOneOf: ["application/merge-patch+json", "application/json"])
    var memory = MemoryReservation(context, request.origin)
    defer { memory.giveBack() }
    let text = try await PostBody(request, context).read(&memory)
    let patch = try EnvelopePatch(text, context.rules)
    context.act?.say(patch.changedNames.joined(separator: ", "))
    return try await apply(patch, to: id)
  }

  /// A large body goes into a file of the store's first, which is thrown away unless the envelope
  /// comes to refer to it.
  private func apply(
    _ patch: EnvelopePatch, to id: EnvelopeID
  ) async throws(Problem) -> HTTPResponse {
    var intake = Intake(context)
    let body = try await intake.store(patch.newBody)
    var isHandedOver = false
    defer { if !isHandedOver { intake.discard() } }
    var claim = try QuotaClaim(steering: context)
    defer { claim.giveBack() }
    return try await EnvelopeChange(context).change(
      id,
      { record throws(Problem) in
        guard record.state != .delivered else { throw .alreadyEnded(record.state) }
        if record.isUnreadable { throw .unreadable(record.state) }
        if record.state.isEnd, record.entry.isInDoubt { throw .endedInDoubt(record.state) }
        if patch.isEmpty { return nil }
        let edit = try patch.applied(
          to: record, body: body, at: context.relay.arrival(), context.relay.upstreamNumber)
        if !record.state.isEnd {
          claim.giveBack()
          try await claim.take(
            moreBytes: edit.content.byteCount - record.draft.content.byteCount,
            for: record.draft.client)
        }
        return (.edit(edit), record.entry)
      }, handedOver: { isHandedOver = true })
  }
}

import HTTPServer
import RelayCore

/// `GET /v1/envelopes/{id}`, with `?wait=N`, and `GET /v1/envelopes/{id}/response`; both also by a
/// sender's key.
struct GetEnvelope {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  /// Answers with the envelope's state.
  func respond(to request: HTTPRequest, _ captures: PathCaptures) async throws(Problem)
    -> HTTPResponse
  {
    let waitSeconds = try context.waitSeconds(request.head.query)
    var record = try await record(captures)
    if waitSeconds > 0, !record.state.isEnd, record.state != .blocked {
      let place = try context.takeWait()
      defer { withExtendedLifetime(place) {} }
      _ = await context.relay.dispatcher.settled(
        record.id, withinMs: Int64(waitSeconds) * 1000)
      record = try await context.record(record.id)
    }
    return await context.viewWithProgress(of: record)
  }

  /// The upstream's answer.
  func respondWithAnswer(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    let record = try await record(captures)
    guard let answer = try await answer(record.id) else {
      let placement = context.relay.dispatcher.placement(of: record.entry.serial, in: record.lane)
      throw .noResponseYet(placement.isInFlight ? .delivering : record.state)
    }
    return context.upstreamAnswer(to: record).response(answer, status: 200)
  }

  private func record(_ captures: PathCaptures) async throws(Problem) -> EnvelopeRecord {
    try await context.record(try await context.envelopeID(captures))
  }

  private func answer(_ id: EnvelopeID) async throws(Problem) -> UpstreamResponse? {
    do throws(StoreError) {
      return try await context.store.response(id)
    } catch {
      throw context.problem(error)
    }
  }
}

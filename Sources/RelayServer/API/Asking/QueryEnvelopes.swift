import HTTPServer
import RelayCore

/// `POST /v1/envelopes/query`: what has become of many envelopes at once.
struct QueryEnvelopes {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let question = try FateQuestion(
      try await CommandBody(context).read(request), from: context.caller.client)
    // Asked first: what ends meanwhile is shown as ended.
    let inFlight = context.relay.dispatcher.inFlightSerials()
    var fates = try await fates(of: question.references)
    let own = try await context.ownEnvelopes(among: question.ids)
    for (index, reference) in question.references.enumerated() {
      if case .id(let id) = reference, !own.contains(id) { fates[index] = nil }
    }
    return .json(
      FateResults(question.references, fates, inFlight: inFlight).json())
  }

  private func fates(
    of references: [EnvelopeReference]
  ) async throws(Problem) -> [EnvelopeFate?] {
    do throws(StoreError) {
      return try await context.store.fates(of: references)
    } catch {
      throw context.problem(error)
    }
  }
}

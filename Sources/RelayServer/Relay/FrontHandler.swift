import EventLoop
import HTTPServer
import RelayCore
import Synchronization

/// Answers requests from the moment that the relay listens: by passing them on while it is a spare,
/// and itself once it has its store.
final class FrontHandler: RequestHandler {
  private let passing: Passing?
  private let own = AtomicLazyReference<RelayHandler>()
  private let observer = AtomicLazyReference<RelayParts>()

  /// Answers nothing yet.
  ///
  /// - Parameter passing: Passes requests on; nil if the relay does not listen before it leads.
  init(_ passing: Passing?) { self.passing = passing }

  /// The relay has its store, and answers from now on.
  func lead(_ parts: RelayParts) {
    _ = observer.storeIfNil(parts)
    _ = own.storeIfNil(RelayHandler(parts))
  }

  /// The parts of the relay that has its store; nil until then.
  var parts: RelayParts? { observer.load() }

  /// Answers a request.
  func respond(to request: HTTPRequest) async -> HTTPResponse {
    if let own = own.load() { return await own.respond(to: request) }
    return await answerAsSpare(request)
  }

  /// Never inlined: the task of every request that waits would keep room for its variables.
  @inline(never)
  private func answerAsSpare(_ request: HTTPRequest) async -> HTTPResponse {
    guard let passing else { preconditionFailure("it listens once it leads") }
    let isQuestion = request.head.method == .get || request.head.method == .head
    if isQuestion, !passing.isPassedOn(request) {
      if request.head.path.elementsEqual("/healthz".utf8) { return HealthChecks.alive }
      if request.head.path.elementsEqual("/metrics".utf8) { return await metrics(request, passing) }
    }
    switch await passing.respond(to: request, unless: { self.own.load() != nil }) {
    case .answered(let response): return response
    case .own(let request):
      guard let own = own.load() else { preconditionFailure("it leads") }
      return await own.respond(to: request)
    }
  }

  /// Each relay has metrics of its own: another one's are never passed on in their place.
  private func metrics(_ request: HTTPRequest, _ passing: Passing) async -> HTTPResponse {
    if let metrics = await passing.metrics(for: request) { return metrics }
    if let own = own.load() { return await own.respond(to: request) }
    return Problem.noLeader(mayHaveArrived: false).response
  }
}

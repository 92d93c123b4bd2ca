import EventLoop
import HTTPServer
import RelayCore
import Synchronization

/// Answers requests from the moment that the relay listens: by passing them on while it is a spare,
/// itself once it has its store, and by passing them on again once it has given it up.
final class FrontHandler: RequestHandler {
  private let passing: Passing?
  private let server: ServerFront
  private let own = AtomicLazyReference<RelayHandler>()
  private let observer = AtomicLazyReference<RelayParts>()
  /// Those that it answers itself; nil if it never passes any on.
  private let underWay: RequestsUnderWay?

  /// Answers nothing yet.
  ///
  /// - Parameters:
  ///   - passing: Passes requests on; nil if the relay does not listen before it leads.
  ///   - server: What it answers for.
  init(_ passing: Passing?, for server: ServerFront) {
    self.passing = passing
    self.server = server
    underWay = passing == nil ? nil : RequestsUnderWay()
  }

  /// The relay has its store, and answers from now on.
  func lead(_ parts: RelayParts) {
    _ = observer.storeIfNil(parts)
    _ = own.storeIfNil(RelayHandler(parts))
  }

  /// The parts of the relay that has its store; nil until then.
  var parts: RelayParts? { observer.load() }

  /// Answers a request.
  func respond(to request: HTTPRequest) async -> HTTPResponse {
    if let own = own.load() {
      guard let underWay else { return await own.respond(to: request) }
      return await answer(request, by: own, underWay)
    }
    return await answerAsSpare(request)
  }

  @inline(never)
  private func answer(
    _ request: HTTPRequest, by own: RelayHandler, _ underWay: RequestsUnderWay
  ) async -> HTTPResponse {
    guard let stay = underWay.begin() else { return await answerAsSpare(request) }
    var response = await own.respond(to: request)
    // What is read from the store while it is sent is under way until its end. Events have none.
    if case .source(let length, let next) = response.body {
      response.body = .source(length: length) { [stay] in
        defer { withExtendedLifetime(stay) {} }
        return try await next()
      }
    }
    return response
  }

  // MARK: - As a spare

  private var hasGivenUp: Bool { underWay?.isClosed ?? false }
  private var leads: Bool { own.load() != nil && !hasGivenUp }

  /// Waits for the requests that it answers now, but no longer than for some milliseconds; others
  /// begin meanwhile.
  func finishEarlier(withinMs: Int64, on loop: EventLoop) async {
    await underWay?.finishEarlier(withinMs: withinMs, on: loop)
  }

  /// From now on it passes requests on again.
  ///
  /// Waits for those that it answers still, but no longer
  /// than for some milliseconds.
  func giveUp(withinMs: Int64, on loop: EventLoop) async {
    passing?.resume()
    await underWay?.close(withinMs: withinMs, on: loop)
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
    switch await passing.respond(to: request, unless: { self.leads }) {
    case .answered(let response): return response
    case .own(let request): return await respond(to: request)
    }
  }

  /// Each relay has metrics of its own: another one's are never passed on in their place.
  private func metrics(_ request: HTTPRequest, _ passing: Passing) async -> HTTPResponse {
    if let metrics = await passing.metrics(for: request, server.certificateEnds) {
      return metrics
    }
    if leads, let own = own.load() { return await own.respond(to: request) }
    return Problem.noLeader(mayHaveArrived: false).response
  }
}

import HTTPServer
import JSON
import RelayCore

/// `POST /v1/upstreams/{upstream}/try`: connects to an upstream, shows it the relay's credentials,
/// and says what came of it, without an envelope.
struct TryUpstream {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    let name = captures.decoded("upstream") ?? ""
    guard let upstream = context.relay.configuration.upstream(named: name) else {
      throw .unknownUpstream(name, field: nil)
    }
    let place = try context.takePlace(
      of: .trials, from: context.relay.trials, total: SharedLimits.trialsMax, isForOperators: true)
    defer { withExtendedLifetime(place) {} }
    let number = context.relay.upstreamNumber(name)
    guard let target = number.flatMap(context.relay.dispatcher.target(of:)),
      let trial = await UpstreamTrial.run(upstream, as: target)
    else { throw .internalError() }
    context.act?.say(trial.words)
    if trial.isGood, let number { context.relay.dispatcher.found(number) }
    var json = JSONWriter()
    json.object { json in
      json.member("upstream", name)
      json.member("works", trial.isGood)
      json.member("finding", trial.words)
    }
    return .freshJSON(json.finish())
  }
}

import HTTPServer
import JSON
import RelayCore

/// `GET /v1/history`: what the charts show of the last hour or day.
struct GetHistory {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let parameters = try PageParameters(
      request.head.query, ["span", "upstream"], isPaged: false)
    let span = try Self.span(parameters)
    let upstream = try await upstream(parameters)
    return .freshJSON(Self.json(try await series(of: span, upstream)))
  }

  private static func span(_ parameters: PageParameters) throws(Problem) -> HistorySpan {
    guard let word = parameters.text("span") else { return .hour }
    guard let span = HistorySpan(rawValue: word) else {
      throw .invalidField(
        "span", "There is no span \(word.quoted).",
        fix: "Give \(HistorySpan.allCases.map(\.rawValue).joined(separator: " or ")).")
    }
    return span
  }

  /// One that is not configured any more has its history for as long as that is kept.
  private func upstream(_ parameters: PageParameters) async throws(Problem) -> UpstreamNumber? {
    guard let name = try parameters.name("upstream") else { return nil }
    guard let number = context.relay.upstreamNumber(name) else {
      return try await formerUpstream(name)
    }
    guard context.relay.dispatcher.history.number(of: number) == number else {
      throw .invalidField(
        "upstream",
        "\(name.quoted) has no history of its own: only the first"
          + " \(HistoryLimits.upstreamsMax) upstreams of the configuration have.",
        fix: "Leave upstream out: what happens at the others counts for all.")
    }
    return number
  }

  private func formerUpstream(_ name: String) async throws(Problem) -> UpstreamNumber {
    do throws(StoreError) {
      let known = try await context.store.upstreamNames().first { $0.value == name }
      if let known { return known.key }
    } catch {
      throw context.problem(error)
    }
    throw .unknownUpstream(name, field: "upstream")
  }

  private func series(
    of span: HistorySpan, _ upstream: UpstreamNumber?
  ) async throws(Problem) -> HistorySeries {
    do throws(StoreError) {
      return try await context.relay.dispatcher.history.series(of: span, upstream)
    } catch {
      throw context.problem(error)
    }
  }

  private static func json(_ series: HistorySeries) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("stepSeconds", series.span.stepMinutes * 60)
      json.member("from", series.begin.begin)
      json.memberArray("points") { json in
        for point in series.points { json.object { point.writeMembers(to: &$0) } }
      }
    }
    return json.finish()
  }
}

extension HistorySeries.Point {
  /// The view of a step (`HistoryPoint` in `openapi.yaml`); unknown figures are left out.
  fileprivate func writeMembers(to json: inout JSONWriter) {
    json.member("at", at)
    json.member("accepted", accepted)
    json.member("delivered", delivered)
    json.member("failed", failed)
    if let waiting { json.member("waiting", waiting) }
    if let p50Ms { json.member("p50Ms", p50Ms) }
    if let p99Ms { json.member("p99Ms", p99Ms) }
  }
}

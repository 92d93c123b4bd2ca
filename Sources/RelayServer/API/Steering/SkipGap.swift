import HTTPServer
import JSON
import RelayCore

/// `POST /v1/clients/{client}/lanes/{lane}/skip`: gives up, now, the sequence numbers that what is
/// parked in a lane waits for.
struct SkipGap {
  private let context: EndpointContext

  /// The number of envelopes that one look for a parked one examines.
  private static let looksMax = 200_000

  init(_ context: EndpointContext) { self.context = context }

  func respond(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    let client = captures.decoded("client") ?? ""
    let lane = captures.decoded("lane") ?? ""
    let skipped = try await skip(client, lane)
    let words = MissingNumbers(ranges: skipped, hasMore: false).words
    context.act?.say(skipped.isEmpty ? "nothing was waited for" : words)
    var json = JSONWriter()
    json.object { $0.member("skipped", skipped) }
    return .freshJSON(json.finish())
  }

  private func skip(_ client: String, _ lane: String) async throws(Problem) -> [SequenceRange] {
    do throws(StoreError) {
      if let number = try await laneOfParked(client, lane) {
        return try await context.store.skipGaps(
          of: number, parkedBy: .never, now: context.relay.now().wall
        ).skipped
      }
      guard try await context.store.client(client) == nil else { return [] }
    } catch {
      throw context.problem(error)
    }
    throw .unknownClient(client)
  }

  /// The lane, if anything is parked in it: only then something is missing that is waited for.
  private func laneOfParked(
    _ client: String, _ lane: String
  ) async throws(StoreError) -> LaneNumber? {
    let filter = EnvelopeFilter(client: client, lane: lane, states: [.parked])
    var serial: Serial = 0
    while true {
      let page = try await context.store.list(
        filter, after: serial, countMax: 1, looksMax: Self.looksMax)
      if let first = page.envelopes.first { return first.lane }
      guard page.hasMore else { return nil }
      serial = page.scannedThrough
    }
  }
}

import JSON
import RelayCore

/// Which progress of attempts a listener has been told, so that it is told again only of more.
///
/// Progress is not logged: it is asked for now and then, while somebody listens and something
/// waits.
struct ProgressWatch {
  /// The time between two looks, in milliseconds.
  let periodMs: Int64 = 1000
  /// The age from which an attempt's progress is told, in milliseconds: a short attempt needs none.
  private static let ageMinMs: Int64 = 1000
  /// The most attempts that are told at a time.
  private static let countMax = 64

  private let context: EndpointContext
  private let filter: EventFilter
  private var nextLookAt: MonotonicTime
  private var told: [Serial: AttemptProgress] = [:]

  init(_ context: EndpointContext, _ filter: EventFilter, now: MonotonicTime) {
    self.context = context
    self.filter = filter
    nextLookAt = now
  }

  /// The data of events to be sent now (`ProgressEvent` in `openapi.yaml`).
  mutating func look(at now: Now) async throws(StoreError) -> [[UInt8]] {
    let dispatcher = context.relay.dispatcher
    guard now.monotonic >= nextLookAt, dispatcher.waitingCount > 0 else { return [] }
    nextLookAt = now.monotonic.adding(milliseconds: periodMs)
    let underWay = await dispatcher.progress()
    let old = underWay.filter { now.wall.milliseconds(since: $0.startedAt) >= Self.ageMinMs }
    let news = old.filter { told[$0.serial] != $0 }.sorted { $0.serial < $1.serial }
    let shown = try await passing(news)
    let known = told
    told = [:]
    for progress in old { told[progress.serial] = known[progress.serial] }
    for (progress, _) in shown { told[progress.serial] = progress }
    return shown.map(\.data)
  }

  private func passing(
    _ news: [AttemptProgress]
  ) async throws(StoreError) -> [(progress: AttemptProgress, data: [UInt8])] {
    let flights = context.relay.dispatcher.flights(of: news.map(\.serial))
    guard !flights.isEmpty else { return [] }
    let upstreams = try await context.store.upstreamNames()
    let lanes = try await context.store.laneNames(Array(Set(flights.values.map(\.lane))))
    // By its id, since an envelope that was parked has another number by now.
    let ids = try await context.store.ids(of: news.map(\.serial))
    let passing = news.filter { progress in
      guard let flight = flights[progress.serial], let lane = lanes[flight.lane] else {
        return false
      }
      return filter.envelope.map { $0 == ids[progress.serial] } ?? true
        && filter.client.map { $0 == lane.client } ?? true
        && filter.lane.map { $0 == lane.lane } ?? true
        && filter.upstream.map { $0 == upstreams[flight.upstream] } ?? true
    }.prefix(Self.countMax)
    return passing.compactMap { progress in
      guard let flight = flights[progress.serial], let lane = lanes[flight.lane],
        let id = ids[progress.serial]
      else { return nil }
      return (progress, json(progress, id, lane, upstream: upstreams[flight.upstream]))
    }
  }

  private func json(
    _ progress: AttemptProgress, _ id: EnvelopeID, _ lane: LaneName, upstream: String?
  ) -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("at", context.relay.now().wall)
      json.member("id", id.description)
      json.member("client", lane.client)
      json.member("lane", lane.lane)
      if let upstream { json.member("upstream", upstream) }
      json.member("state", EnvelopeState.delivering.rawValue)
      progress.write(to: &json)
    }
    return json.finish()
  }
}

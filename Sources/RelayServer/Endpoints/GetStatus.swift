import HTTPServer
import RelayCore

/// `GET /status`: from counters, however much is stored.
struct GetStatus {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond() async -> HTTPResponse {
    do throws(StoreError) {
      return .freshJSON(try await view().json())
    } catch {
      return context.problem(error).response
    }
  }

  /// How the relay stands.
  func view() async throws(StoreError) -> StatusView {
    let relay = context.relay
    let now = relay.now()
    let snapshot = relay.dispatcher.snapshot()
    let rate = { (kind: RateMeter.Kind) in relay.meter.perSecond(kind, at: now.monotonic) }
    return StatusView(
      isDraining: relay.isDraining, startedAt: relay.startedAt,
      uptimeSeconds: relay.uptimeSeconds,
      statistics: context.store.statistics(), waitingBytes: relay.quotas.total.bytes,
      inFlightCount: snapshot.inFlightCount,
      oldestWaitingAt: snapshot.oldestWaitingAt,
      upstreams: try await ListUpstreams(context).view(of: snapshot, now),
      rates: StatusView.Rates(
        accepted: rate(.accepted), delivered: rate(.delivered), failed: rate(.failed),
        attempts: rate(.attempts), shed: rate(.shed)),
      blockedLaneCount: snapshot.blockedLaneCount,
      blockedLanes: try await blockedLanes(snapshot.blockedLanes),
      backlogs: try await backlogs(snapshot.backlogs))
  }

  private func blockedLanes(
    _ lanes: [(lane: LaneNumber, head: LineEntry)]
  ) async throws(StoreError) -> [StatusView.BlockedLane] {
    guard !lanes.isEmpty else { return [] }
    let names = try await context.store.laneNames(lanes.map(\.lane))
    let ids = try await context.store.ids(of: lanes.map(\.head.serial))
    var blocked: [StatusView.BlockedLane] = []
    for lane in lanes {
      guard let name = names[lane.lane], let id = ids[lane.head.serial],
        let record = try await record(of: id)
      else { continue }
      blocked.append(
        StatusView.BlockedLane(
          name: name, envelope: id,
          since: record.attempts.last.map { $0.startedAt.adding(milliseconds: $0.durationMs) },
          reason: record.reason ?? reason(of: record)))
    }
    return blocked
  }

  /// Why a lane stands of which the store knows no reason.
  private func reason(of head: EnvelopeRecord) -> String {
    head.state == .blocked
      ? "the upstream refused it"
      : "the store is damaged, and what became of it cannot be written; stands until the next start"
  }

  /// An envelope; nil also for one that cannot be read, which must not hide all the others.
  private func record(of id: EnvelopeID) async throws(StoreError) -> EnvelopeRecord? {
    do throws(StoreError) {
      return try await context.store.envelope(id)
    } catch {
      guard error.kind == .corrupt else { throw error }
      return nil
    }
  }

  private func backlogs(
    _ backlogs: [(client: ClientNumber, waiting: Int)]
  ) async throws(StoreError) -> [(client: String, waiting: Int)] {
    guard !backlogs.isEmpty else { return [] }
    let names = try await context.store.clientNames(backlogs.map(\.client))
    return backlogs.compactMap { backlog in
      names[backlog.client].map { ($0, backlog.waiting) }
    }
  }
}

import HTTPServer
import RelayCore
import Synchronization

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

  /// Returns the relay's status.
  func view() async throws(StoreError) -> StatusView {
    let relay = context.relay
    let now = relay.now()
    let needs = await relay.dispatcher.needs.needs()
    let snapshot = await relay.dispatcher.snapshot()
    let uploads = relay.uploads.figures
    let rate = { (kind: RateMeter.Kind) in relay.meter.perSecond(kind, at: now.monotonic) }
    return StatusView(
      needs: needs, isDraining: relay.isDraining, startedAt: relay.startedAt,
      uptimeSeconds: relay.uptimeSeconds,
      configuration: relay.inForce.withLock { $0 }, receipts: receipts,
      statistics: context.store.statistics(), files: relay.embedded?.files(),
      waitingBytes: relay.quotas.total.bytes,
      uploads: (uploads.open, uploads.openBytes),
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

  private var receipts: StatusView.Receipts? {
    guard let keys = context.relay.receiptKeys,
      let issuer = context.relay.configuration.receipts?.issuer
    else { return nil }
    return StatusView.Receipts(issuer: issuer, kid: keys.kid)
  }

  private func blockedLanes(
    _ lanes: [(lane: LaneNumber, head: LineEntry)]
  ) async throws(StoreError) -> [StatusView.BlockedLane] {
    let blocked = try await context.blockedLanes(lanes)
    return lanes.compactMap { blocked[$0.lane] }
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

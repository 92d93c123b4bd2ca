import HTTPServer
import RelayCore
import Synchronization

/// `GET /status`: from counters, however much is stored.
///
/// What is shown of the store's own is left out while it cannot be asked: whoever looks wants to
/// know why then, and not to wait.
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
  ///
  /// - Throws: `closed`; other trouble is part of what is shown.
  func view() async throws(StoreError) -> StatusView {
    let relay = context.relay
    let now = relay.now()
    let deadline = BriefQuestions.deadline(at: now.monotonic)
    let needs = await relay.needs(until: deadline)
    let snapshot = await relay.dispatcher.snapshot()
    let (stored, trouble) = try await stored(of: snapshot, until: deadline)
    var statistics = context.store.statistics()
    statistics.trouble = statistics.trouble ?? trouble
    let uploads = relay.uploads.figures
    let rate = { (kind: RateMeter.Kind) in relay.meter.perSecond(kind, at: now.monotonic) }
    return StatusView(
      needs: needs, isDraining: relay.isDraining, startedAt: relay.startedAt,
      uptimeSeconds: relay.uptimeSeconds,
      configuration: relay.inForce.withLock { $0 }, receipts: receipts,
      statistics: statistics, files: relay.embedded?.files(),
      waitingBytes: relay.quotas.total.bytes,
      uploads: (uploads.open, uploads.openBytes),
      inFlightCount: snapshot.inFlightCount,
      oldestWaitingAt: snapshot.oldestWaitingAt,
      upstreams: UpstreamsView(
        configured: ListUpstreams(context).configured(snapshot, now),
        unconfigured: stored?.unconfigured ?? []),
      rates: StatusView.Rates(
        accepted: rate(.accepted), delivered: rate(.delivered), failed: rate(.failed),
        attempts: rate(.attempts), shed: rate(.shed)),
      blockedLaneCount: snapshot.blockedLaneCount,
      stored: stored ?? StatusView.Stored(), isPartial: stored == nil)
  }

  private var receipts: StatusView.Receipts? {
    guard let keys = context.relay.receiptKeys,
      let issuer = context.relay.configuration.receipts?.issuer
    else { return nil }
    return StatusView.Receipts(issuer: issuer, kid: keys.kid)
  }

  // MARK: - The store

  /// What the store is asked for; nil with the reason if it cannot tell.
  private func stored(
    of snapshot: DispatcherSnapshot, until deadline: MonotonicTime
  ) async throws(StoreError) -> (StatusView.Stored?, trouble: String?) {
    guard context.relay.reachableStore != nil else {
      return (nil, "the database has not answered for too long")
    }
    let told = await context.relay.briefQuestions.ask(
      on: context.relay.dispatcher.loop, until: deadline
    ) { await ask(of: snapshot) }
    switch told {
    case .success(let stored): return (stored, nil)
    case nil: return (nil, "the store takes longer than two seconds to answer")
    case .failure(let error):
      guard error.kind != .closed else { throw error }
      _ = context.problem(error)
      return (nil, error.description)
    }
  }

  private func ask(of snapshot: DispatcherSnapshot) async -> Result<StatusView.Stored, StoreError> {
    do throws(StoreError) {
      return .success(
        StatusView.Stored(
          unconfigured: try await ListUpstreams(context).unconfigured(snapshot.unconfigured),
          blockedLanes: try await blockedLanes(snapshot.blockedLanes),
          backlogs: try await backlogs(snapshot.backlogs)))
    } catch {
      return .failure(error)
    }
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

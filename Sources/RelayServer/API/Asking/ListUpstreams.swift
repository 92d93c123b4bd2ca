import HTTPServer
import RelayCore

/// `GET /v1/upstreams`: what `/status` says of the upstreams, and no more.
struct ListUpstreams {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond() async -> HTTPResponse {
    do throws(StoreError) {
      return .freshJSON(try await view().json())
    } catch {
      return context.problem(error).response
    }
  }

  /// Returns the state of the upstreams.
  func view() async throws(StoreError) -> UpstreamsView {
    let relay = context.relay
    return try await view(of: await relay.dispatcher.snapshot(), relay.now())
  }

  /// The state of the upstreams by a snapshot.
  func view(
    of snapshot: DispatcherSnapshot, _ now: Now
  ) async throws(StoreError) -> UpstreamsView {
    UpstreamsView(
      configured: configured(snapshot, now),
      unconfigured: try await unconfigured(snapshot.unconfigured))
  }

  /// The configured ones.
  func configured(
    _ snapshot: DispatcherSnapshot, _ now: Now
  ) -> [UpstreamsView.Configured] {
    context.relay.configuration.upstreams.compactMap { upstream in
      guard let number = context.relay.upstreamNumber(upstream.name),
        let view = snapshot.upstreams[number]
      else { return nil }
      let wall = { (time: MonotonicTime) in
        now.wall.adding(milliseconds: time.milliseconds(since: now.monotonic))
      }
      return UpstreamsView.Configured(
        name: upstream.name, url: upstream.shownURL, view: view,
        nextProbeAt: view.probeAt(after: now.monotonic).map(wall),
        heldUntil: view.heldUntil.map(wall))
    }
  }

  /// Those that are not configured, and that something waits for.
  func unconfigured(
    _ views: [UpstreamNumber: Scheduler.UnconfiguredView]
  ) async throws(StoreError) -> [UpstreamsView.Unconfigured] {
    guard !views.isEmpty else { return [] }
    let names = try await context.store.upstreamNames()
    return views.sorted { $0.key < $1.key }.compactMap { number, view in
      names[number].map { UpstreamsView.Unconfigured(name: $0, view: view) }
    }
  }
}

import HTTPServer
import RelayCore

/// `GET /metrics`: from counters alone, however much is stored.
struct GetMetrics {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let view = await view()
    return Self.response(to: request.head) { view.text($0) }
  }

  /// Metrics in the format that whoever asks would rather have.
  static func response(
    to head: RequestHead, _ text: (ExpositionFormat) -> [UInt8]
  ) -> HTTPResponse {
    let format = ExpositionFormat(AcceptedTypes(head))
    var response = HTTPResponse(status: 200, body: .bytes(text(format)))
    response.headers.add("Content-Type", format.contentType)
    response.headers.add("Vary", "Accept")
    response.headers.add("Cache-Control", "no-store")
    return response
  }

  private func view() async -> MetricsView {
    let relay = context.relay
    let metrics = relay.metrics
    _ = await relay.needs()
    let snapshot = await relay.dispatcher.snapshot()
    let upstreams = upstreams(snapshot)
    return MetricsView(
      now: relay.now().wall, needs: relay.dispatcher.needs.counts,
      certificateEnds: relay.certificateEnds,
      isDraining: relay.isDraining, passed: relay.passed, deliveries: metrics.deliveries,
      posts: metrics.posts, uploads: relay.uploads.figures, shed: relay.admission.refusals,
      storeWaits: metrics.waitsForStore,
      upstreams: upstreams.labelled, others: upstreams.others,
      blockedLaneCount: snapshot.blockedLaneCount, inFlightCount: snapshot.inFlightCount,
      statistics: context.store.statistics(), files: relay.embedded?.files(),
      waitingBytes: relay.quotas.total.bytes,
      commits: context.store.commitFigures, signatureTimes: relay.receipts.signatureTimes,
      certificateProblemCount: relay.certificateProblems().count,
      listenerKinds: metrics.listenerKinds,
      connections: metrics.connections(of: relay.front.connectionFigures),
      failedHandshakes: metrics.failedHandshakes, requests: metrics.requests,
      loopLag: relay.front.loopLag, loopCount: relay.front.loopCount,
      spans: relay.dispatcher.tracer.figures,
      process: .now())
  }

  /// Those with a label, and all others together.
  private func upstreams(
    _ snapshot: DispatcherSnapshot
  ) -> (labelled: [MetricsView.Upstream], others: (waiting: Int, oldestWaitingAt: WallTime?)) {
    var labelled: [MetricsView.Upstream] = []
    var waiting = 0
    var oldest: WallTime?
    let note = { (more: Int, time: WallTime?) in
      waiting += more
      oldest = [oldest, time].compactMap { $0 }.min()
    }
    for upstream in context.relay.configuration.upstreams {
      guard let number = context.relay.upstreamNumber(upstream.name),
        let view = snapshot.upstreams[number]
      else { continue }
      if labelled.count < MetricsLimits.upstreamsMax {
        labelled.append(MetricsView.Upstream(name: upstream.name, view: view))
      } else {
        note(view.waiting, view.oldestWaitingAt)
      }
    }
    for view in snapshot.unconfigured.values { note(view.waiting, view.oldestWaitingAt) }
    return (labelled, (waiting, oldest))
  }
}

extension ExpositionFormat {
  /// The one that whoever asks would rather have; text where nothing is said of OpenMetrics 1.0.
  package init(_ accepted: AcceptedTypes) {
    let openMetrics = accepted.quality(
      ofNamed: "application", "openmetrics-text", version: "1.")
    let isLiked = openMetrics > 0 && openMetrics >= accepted.quality("text", "plain")
    self = isLiked ? .openMetrics : .text
  }
}

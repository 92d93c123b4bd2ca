import HTTPServer
import RelayCore

/// How the relay stands, as those see it who collect metrics.
struct MetricsView {
  /// An upstream as the dispatcher has it.
  struct Upstream {
    var name: String
    var view: Scheduler.UpstreamView
  }

  var now: WallTime
  var isDraining: Bool
  var deliveries: DeliveryFigures
  var posts: PostFigures
  var shed: [AdmissionControl.Refusal: UInt64]
  var storeWaits: Histogram
  /// Those of the configuration that have a label, in its order.
  var upstreams: [Upstream]
  /// What waits for others, and since when the oldest of it does.
  var others: (waiting: Int, oldestWaitingAt: WallTime?)
  var blockedLaneCount: Int
  var inFlightCount: Int
  var statistics: StoreStatistics
  /// Its files; nil if it keeps none on this machine.
  var files: StoreFiles?
  var waitingBytes: Int64
  var commits: CommitFigures
  var certificateProblemCount: Int
  var listenerKinds: [String]
  var connections: [ListenerFigures]
  var failedHandshakes: [UInt64]
  var requests: RequestFigures
  var loopLag: Histogram
  var loopCount: Int
  var spans: SpanQueue.Figures
  var process: ProcessReading

  /// Room for the text of a relay with one upstream.
  private static let bytesOfFew = 32 * 1024

  /// The text that is answered.
  func text(_ format: ExpositionFormat) -> [UInt8] {
    var writer = ExpositionWriter(format, capacity: Self.bytesOfFew)
    writeRelay(to: &writer)
    writePosts(to: &writer)
    writeDeliveries(to: &writer)
    writeUpstreams(to: &writer)
    writeStore(to: &writer)
    writeCommits(to: &writer)
    writeConnections(to: &writer)
    writeRequests(to: &writer)
    writeSpans(to: &writer)
    writeProcess(to: &writer)
    return writer.finish()
  }

  private func writeRelay(to writer: inout ExpositionWriter) {
    writer.begin(.info, "waystation_build", "Which release of Waystation this is.")
    writer.sample(("version", ReleaseVersion.number), value: 1)
    writer.begin(.gauge, "waystation_draining", "1 while the relay shuts down, else 0.")
    writer.sample(value: isDraining ? 1 : 0)
  }

  private func writePosts(to writer: inout ExpositionWriter) {
    writer.begin(
      .counter, "waystation_posted_envelopes",
      "Envelopes that were posted, by what became of them; a post that is refused whole is one.")
    for result in PostFigures.Result.allCases {
      writer.sample(("result", result.rawValue), value: posts.results[result] ?? 0)
    }
    writer.begin(
      .counter, "waystation_shed_posts",
      "Posts that were refused since the relay had too much to do.")
    for refusal in AdmissionControl.Refusal.allCases {
      writer.sample(("reason", refusal.label), value: shed[refusal] ?? 0)
    }
    writer.begin(
      .counter, "waystation_quota_refusals", "Requests and envelopes that a quota had no room for.")
    for limit in QuotaRefusal.limitNames {
      writer.sample(("limit", limit), value: posts.quotas[limit] ?? 0)
    }
    writer.begin(
      .histogram, "waystation_store_wait_seconds",
      "How long posts waited until the store had their envelopes on disk.")
    writer.histogram(value: storeWaits)
  }
}

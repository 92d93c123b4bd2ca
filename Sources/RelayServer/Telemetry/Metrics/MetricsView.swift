import HTTPServer
import RelayCore

/// The relay's state for those who collect metrics.
struct MetricsView {
  /// An upstream as the dispatcher has it.
  struct Upstream {
    var name: String
    var view: Scheduler.UpstreamView
  }

  var now: WallTime
  /// How many things need somebody.
  var needs: NeedCounts
  var certificateEnds: [NeedFacts.Certificate]
  var isDraining: Bool
  /// What it has passed on while it was a spare; nil if it shares its store with no other relay, or
  /// does not listen as a spare.
  var passed: PassingFigures?
  var deliveries: DeliveryFigures
  var posts: PostFigures
  var uploads: UploadFigures
  var shed: [AdmissionControl.Refusal: UInt64]
  var storeWaits: Histogram
  /// Those of the configuration that have a label, in its order.
  var upstreams: [Upstream]
  /// The number of envelopes that wait for other upstreams, and the acceptance time of the oldest.
  var others: (waiting: Int, oldestWaitingAt: WallTime?)
  var blockedLaneCount: Int
  var inFlightCount: Int
  var statistics: StoreStatistics
  /// Its files; nil if it keeps none on this machine.
  var files: StoreFiles?
  var waitingBytes: Int64
  var commits: CommitFigures
  /// How long the signatures of groups of receipts took, in microseconds.
  var signatureTimes: Histogram
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
    for family in MetricFamily.all where family.isShown(self) {
      writer.begin(family)
      family.write(self, &writer)
    }
    return writer.finish()
  }
}

import RelayCore
import Synchronization

/// Counts of requests that were passed on to the relay that has the store.
final class PassingFigures: Sendable {
  /// What became of one.
  enum Outcome: String, CaseIterable {
    /// The other relay has answered it.
    case answered
    /// No relay could be reached that has the store; it has not left this one.
    case unreached
    /// It was passed on, and the answer was lost.
    case lost
  }

  private let counts = Mutex<[Outcome: UInt64]>([:])

  /// Counts one.
  func count(_ outcome: Outcome) { counts.withLock { $0[outcome, default: 0] += 1 } }

  /// Writes the series of ``MetricFamily/passedRequests``.
  func write(to writer: inout ExpositionWriter) {
    let counts = counts.withLock { $0 }
    for outcome in Outcome.allCases { writer.sample(outcome.rawValue, value: counts[outcome] ?? 0) }
  }

  /// The metrics of a relay that is a spare: it has nothing else to count.
  ///
  /// - Parameter certificates: What its listeners' certificates are, and when each ends.
  func text(
    _ format: ExpositionFormat, _ certificates: [(what: String, endsAt: WallTime)], now: WallTime
  ) -> [UInt8] {
    var writer = ExpositionWriter(format)
    writer.begin(.build)
    writer.sample(ReleaseVersion.number, value: 1)
    writer.begin(.spare)
    writer.sample(value: 1)
    writer.begin(.passedRequests)
    write(to: &writer)
    writer.begin(.certificateEnds)
    for (what, end) in certificates { writer.sample(what, endsAt: end, now: now) }
    return writer.finish()
  }
}

extension ExpositionWriter {
  /// Writes a sample of ``MetricFamily/certificateEnds``.
  mutating func sample(_ what: String, endsAt end: WallTime, now: WallTime) {
    sample(what, value: Double(end.milliseconds(since: now)) / 1000)
  }
}

extension MetricFamily {
  /// Which release it is.
  static let build = MetricFamily(
    .info, "waystation_build", ["version"], "Which release of Waystation this is."
  ) { $1.sample(ReleaseVersion.number, value: 1) }

  /// Whether it is a spare: 0 in the metrics of a relay that has its store.
  static let spare = MetricFamily(
    .gauge, "waystation_spare", "1 while another relay has the store, else 0."
  ) { _ in 0 }

  /// Requests that it has passed on while it was a spare.
  static let passedRequests = MetricFamily(
    .counter, "waystation_passed_requests", ["outcome"],
    "Requests that a spare had to pass on to the relay that has the store.",
    isShown: { $0.passed != nil }
  ) { view, writer in view.passed?.write(to: &writer) }
}

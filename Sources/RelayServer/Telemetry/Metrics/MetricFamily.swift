/// All that there is to know of one family of metrics.
///
/// The text of `/metrics` is made of these records, in the order of ``all``. The table of
/// `docs/operating.md`, the alert rules and the dashboard are compared with them by a test.
struct MetricFamily: Sendable {
  /// The kind of a family.
  enum Kind: String {
    /// Only grows, from 0 at the start of the process.
    case counter
    /// Goes up and down.
    case gauge
    /// Values in buckets.
    case histogram
    /// A text that does not change.
    case info

    /// The suffix of the family's name in a sample.
    var suffix: StaticString {
      switch self {
      case .counter: "_total"
      case .info: "_info"
      case .gauge, .histogram: ""
      }
    }
  }

  let kind: Kind
  /// The family's name, which ends with its unit.
  ///
  /// It has no `_total` or `_info`: samples get these.
  let name: StaticString
  /// The labels of its series, in their order.
  let labels: [StaticString]
  /// One sentence.
  let help: StaticString
  /// Whether a reading has the family at all.
  let isShown: @Sendable (MetricsView) -> Bool
  /// Writes the series.
  let write: @Sendable (MetricsView, inout ExpositionWriter) -> Void

  init(
    _ kind: Kind, _ name: StaticString, _ labels: [StaticString], _ help: StaticString,
    isShown: @escaping @Sendable (MetricsView) -> Bool = { _ in true },
    write: @escaping @Sendable (MetricsView, inout ExpositionWriter) -> Void
  ) {
    self.kind = kind
    self.name = name
    self.labels = labels
    self.help = help
    self.isShown = isShown
    self.write = write
  }

  /// A family with one series, whose value is a whole number.
  init(
    _ kind: Kind, _ name: StaticString, _ help: StaticString,
    value: @escaping @Sendable (MetricsView) -> Int64
  ) {
    self.init(kind, name, [], help) { view, writer in writer.sample(value: value(view)) }
  }

  /// The name of its samples; those of a histogram have more behind it.
  var sampleName: String { "\(name)\(kind.suffix)" }

  /// The unit that ends the family's name, if one does.
  var unit: String? {
    let name = name.description
    return ["seconds", "bytes"].first { name.hasSuffix("_\($0)") }
  }

  /// Every family of a relay that has its store, in the order of the text.
  static let all: [MetricFamily] = [
    relay, posts, uploads, deliveries, upstreams, store, commits, receipts, connections, requests,
    spans, process,
  ].flatMap { $0 }
}

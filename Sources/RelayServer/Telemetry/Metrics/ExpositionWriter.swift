import RelayCore

/// Writes metrics as text, family by family.
///
/// Follows Prometheus' text format 0.0.4 and OpenMetrics 1.0 where they differ: how the families of
/// counters are called, whether there are units, and the last line. Numbers are written alike in
/// both, so that a series stays the same when whoever collects it asks for the other one.
struct ExpositionWriter {
  private let format: ExpositionFormat
  private var bytes: [UInt8] = []
  private var family: MetricFamily?

  /// Begins a text.
  init(_ format: ExpositionFormat, capacity: Int = 0) {
    self.format = format
    bytes.reserveCapacity(capacity)
  }

  /// Begins a family; its series follow.
  mutating func begin(_ family: MetricFamily) {
    self.family = family
    append("# HELP ")
    append(name(of: family))
    append(" ")
    append(escaping: family.help.description, quotes: format == .openMetrics)
    append("\n# TYPE ")
    append(name(of: family))
    append(format == .text && family.kind == .info ? " gauge" : " \(family.kind.rawValue)")
    append("\n")
    if format == .openMetrics, let unit = family.unit {
      append("# UNIT \(family.name) \(unit)\n")
    }
  }

  /// A series of a counter, a gauge or an info, by its labels' values, with its own value.
  mutating func sample(_ labels: String..., value: Double) {
    appendSeries("", labels)
    append(Self.number(value))
    append("\n")
  }

  /// The same with a whole number, which is written without a fraction.
  mutating func sample(_ labels: String..., value: some BinaryInteger) {
    appendSeries("", labels)
    append("\(value)\n")
  }

  /// All series of a histogram.
  mutating func histogram(_ labels: String..., value: Histogram) {
    let shown = Double(value.buckets.unitsPerShown)
    let bounds = value.buckets.bounds.map { Self.number(Double($0) / shown) } + ["+Inf"]
    let counts = value.cumulativeCounts
    for (bound, count) in zip(bounds, counts) {
      appendSeries("_bucket", labels, bound: bound)
      append("\(count)\n")
    }
    appendSeries("_sum", labels)
    append("\(Self.number(Double(value.sum) / shown))\n")
    appendSeries("_count", labels)
    append("\(counts.last ?? 0)\n")
  }

  /// Ends the text.
  mutating func finish() -> [UInt8] {
    if format == .openMetrics { append("# EOF\n") }
    return bytes
  }

  // MARK: - Parts of lines

  /// In the older format a counter's family has the name of its samples, and so has an info's.
  private func name(of family: MetricFamily) -> String {
    format == .text ? family.sampleName : family.name.description
  }

  /// - Precondition: A family was begun, and each of its labels has a value.
  private mutating func appendSeries(
    _ suffix: StaticString, _ labels: [String], bound: String? = nil
  ) {
    guard let family else { preconditionFailure("a series belongs to a family") }
    precondition(labels.count == family.labels.count, "each label has a value")
    append(family.sampleName)
    append(suffix.description)
    var separator = "{"
    for (name, value) in zip(family.labels, labels) {
      appendLabel(name, value, behind: separator)
      separator = ","
    }
    if let bound {
      appendLabel("le", bound, behind: separator)
      separator = ","
    }
    append(separator == "{" ? " " : "} ")
  }

  private mutating func appendLabel(
    _ name: StaticString, _ value: String, behind separator: String
  ) {
    append(separator)
    append("\(name)=\"")
    append(escaping: value, quotes: true)
    append("\"")
  }

  private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

  /// Backslashes, line ends and, where they would end the text, quotes are escaped.
  private mutating func append(escaping text: String, quotes: Bool) {
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\\"): append("\\\\")
      case 0x0A: append("\\n")
      case UInt8(ascii: "\"") where quotes: append("\\\"")
      default: bytes.append(byte)
      }
    }
  }

  /// A number as both formats read it.
  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    return "\(value)"
  }
}

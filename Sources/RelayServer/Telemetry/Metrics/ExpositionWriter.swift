import RelayCore

/// Writes metrics as text, family by family.
///
/// Follows Prometheus' text format 0.0.4 and OpenMetrics 1.0 where they differ: how the families of
/// counters are called, whether there are units, and the last line. Numbers are written alike in
/// both, so that a series stays the same when whoever collects it asks for the other one.
package struct ExpositionWriter {
  /// What a family measures.
  package enum Kind: String {
    /// Only grows, from 0 at the start of the process.
    case counter
    /// Goes up and down.
    case gauge
    /// Values in buckets.
    case histogram
    /// A text that does not change.
    case info
  }

  /// A name and a value that tells a series from others of its family.
  package typealias Label = (name: StaticString, value: String)

  private let format: ExpositionFormat
  private var bytes: [UInt8] = []
  private var family: StaticString = ""
  private var kind = Kind.gauge

  /// Begins a text.
  package init(_ format: ExpositionFormat, capacity: Int = 0) {
    self.format = format
    bytes.reserveCapacity(capacity)
  }

  /// Begins a family; its series follow.
  ///
  /// - Parameters:
  ///   - name: Without what a counter, or an info, has behind it: `_total`, `_info`.
  ///   - help: One sentence.
  package mutating func begin(_ kind: Kind, _ name: StaticString, _ help: StaticString) {
    family = name
    self.kind = kind
    append("# HELP ")
    appendFamily()
    append(" ")
    append(escaping: help.description, quotes: format == .openMetrics)
    append("\n# TYPE ")
    appendFamily()
    append(format == .text && kind == .info ? " gauge" : " \(kind.rawValue)")
    append("\n")
    if format == .openMetrics, let unit { append("# UNIT \(name) \(unit)\n") }
  }

  /// A series of a counter, a gauge or an info, with its value.
  package mutating func sample(_ labels: Label..., value: Double) {
    appendSeries(suffix: suffix, labels)
    append(Self.number(value))
    append("\n")
  }

  /// The same with a whole number, which is written without a fraction.
  package mutating func sample(_ labels: Label..., value: some BinaryInteger) {
    appendSeries(suffix: suffix, labels)
    append("\(value)\n")
  }

  /// All series of a histogram.
  package mutating func histogram(_ labels: Label..., value: Histogram) {
    let shown = Double(value.buckets.unitsPerShown)
    let bounds = value.buckets.bounds.map { Self.number(Double($0) / shown) } + ["+Inf"]
    let counts = value.cumulativeCounts
    for (bound, count) in zip(bounds, counts) {
      let label: Label = ("le", bound)
      appendSeries(suffix: "_bucket", labels + [label])
      append("\(count)\n")
    }
    appendSeries(suffix: "_sum", labels)
    append("\(Self.number(Double(value.sum) / shown))\n")
    appendSeries(suffix: "_count", labels)
    append("\(counts.last ?? 0)\n")
  }

  /// Ends the text.
  package mutating func finish() -> [UInt8] {
    if format == .openMetrics { append("# EOF\n") }
    return bytes
  }

  // MARK: - Parts of lines

  /// What stands behind the family's name in a sample.
  private var suffix: StaticString {
    switch kind {
    case .counter: "_total"
    case .info: "_info"
    case .gauge, .histogram: ""
    }
  }

  /// The unit that ends the family's name, if one does.
  private var unit: String? {
    let name = family.description
    return ["seconds", "bytes"].first { name.hasSuffix("_\($0)") }
  }

  /// In the older format a counter's family has the name of its samples, and so has an info's.
  private mutating func appendFamily() {
    append(family.description)
    if format == .text { append(suffix.description) }
  }

  private mutating func appendSeries(suffix: StaticString, _ labels: [Label]) {
    append(family.description)
    append(suffix.description)
    if !labels.isEmpty {
      append("{")
      for (index, label) in labels.enumerated() {
        append(index == 0 ? "" : ",")
        append("\(label.name)=\"")
        append(escaping: label.value, quotes: true)
        append("\"")
      }
      append("}")
    }
    append(" ")
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

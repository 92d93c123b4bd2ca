import RelayCore

/// The two formats that those who collect metrics read.
package enum ExpositionFormat: Sendable {
  /// Prometheus' text format 0.0.4.
  case text
  /// OpenMetrics 1.0.
  case openMetrics

  /// What it says of itself as a `Content-Type`.
  package var contentType: String {
    switch self {
    case .text: "text/plain; version=0.0.4; charset=utf-8"
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    }
  }

  /// The one that whoever asks would rather have, by the values of its `Accept` fields (RFC 9110
  /// section 12.5.1); text where it says nothing of OpenMetrics 1.0.
  package init(accept values: [ArraySlice<UInt8>]) {
    var openMetrics = 0
    var text = 0
    for value in values {
      for element in String(decoding: value, as: UTF8.self).lowercased().split(separator: ",") {
        let range = MediaRange(element)
        switch range.type {
        case "application/openmetrics-text" where range.version?.hasPrefix("1.") ?? true:
          openMetrics = max(openMetrics, range.weight)
        case "text/plain": text = max(text, range.weight)
        default: break
        }
      }
    }
    self = openMetrics > 0 && openMetrics >= text ? .openMetrics : .text
  }
}

/// One element of an `Accept` field, as far as it matters here.
private struct MediaRange {
  var type: String
  var version: String?
  /// The `q`, in thousandths.
  var weight = 1000

  init(_ element: Substring) {
    let parts = element.split(separator: ";", omittingEmptySubsequences: false).map(Self.trimmed)
    type = parts[0]
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2 else { continue }
      let value = Self.trimmed(pair[1])
      switch Self.trimmed(pair[0]) {
      case "version": version = value
      // What is no number is no wish.
      case "q": weight = Double(value).map { Int(1000 * min(1, max(0, $0))) } ?? 0
      default: break
      }
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    let blanks: Set<Character> = [" ", "\t", "\""]
    var text = text
    while let first = text.first, blanks.contains(first) { text.removeFirst() }
    while let last = text.last, blanks.contains(last) { text.removeLast() }
    return String(text)
  }
}

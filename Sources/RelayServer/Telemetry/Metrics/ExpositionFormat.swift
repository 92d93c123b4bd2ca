/// The two formats that those who collect metrics read.
package enum ExpositionFormat: Sendable {
  /// Prometheus' text format 0.0.4.
  case text
  /// OpenMetrics 1.0.
  case openMetrics

  /// Its `Content-Type`.
  package var contentType: String {
    switch self {
    case .text: "text/plain; version=0.0.4; charset=utf-8"
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    }
  }
}

import Forwarder
import HTTPServer
import RelayCore

// What the configuration means for the parts that a relay is put together from.

extension LimitsConfiguration {
  /// The HTTP server's limits.
  ///
  /// A request's body may be as large as the largest thing that any route takes; each route holds
  /// its own limit.
  var http: HTTPLimits {
    var limits = HTTPLimits()
    limits.requestLineBytesMax = requestLineBytesMax
    limits.fieldCountMax = headerCountMax
    limits.fieldBytesMax = headerBytesMax
    limits.bodyBytesMax = Int64(max(bodyBytesMax, batchBytesMax))
    limits.connectionsMax = connectionsMax
    limits.idleTimeoutMs = Int64(idleTimeoutMs)
    limits.headTimeoutMs = Int64(headTimeoutMs)
    return limits
  }
}

extension UpstreamConfiguration {
  /// Where and how the forwarder sends.
  ///
  /// - Throws: If a configured header is one that the relay sets itself.
  func target() throws(UpstreamTargetError) -> UpstreamTarget {
    var fields = RelayCore.HeaderBlock()
    for header in headers { fields.append(name: header.name, value: header.value.value) }
    return try UpstreamTarget(
      name: name, url: url, headers: fields, connectTimeoutMs: connectTimeoutMs,
      attemptTimeoutMs: attemptTimeoutMs,
      responseBodyBytesMax: responseBodyBytesMax, maxConcurrent: maxConcurrent,
      proxy: proxy?.url.value)
  }
}

/// The limits of one ``Forwarder``, each with its unit in its name.
package struct ForwarderLimits: Sendable {
  /// The most bytes of header lines of one response, interim responses included.
  ///
  /// More is a malformed response.
  package var responseHeaderBytesMax = 128 * 1024
  /// The number of bytes of a response's body that are read beyond the kept part, so that the
  /// connection can be used again.
  ///
  /// A longer response still counts; its connection is cut.
  package var responseDrainBytesMax = 1024 * 1024
  /// The time for which a resolved address is used before the name is looked up again.
  package var nameCacheSeconds = 30
  /// The time for which an idle connection is kept; upstreams close theirs after a minute or so
  /// anyway.
  package var idleConnectionSeconds = 60
  /// The silence after which the kernel asks whether a connection's peer is still there.
  package var keepaliveIdleSeconds = 30
  /// The time between two such probes of the kernel.
  package var keepaliveIntervalSeconds = 15
  /// The most bytes of a request that the kernel takes before it has sent the earlier ones.
  ///
  /// Written bytes count as sent, so progress may be wrong by this much, and a slow link must carry
  /// this much within an idle timeout.
  package var unsentBytesMax = 32 * 1024
  /// The most idle connections over all upstreams.
  package var idleConnectionsMax = 1024
  /// The most bytes of an error's words in a report.
  package var errorDetailBytesMax = 300

  /// The most idle connections for these upstreams.
  func idleConnections(to targets: [UpstreamTarget]) -> Int {
    min(max(targets.reduce(0) { $0 + $1.maxConcurrent }, 1), idleConnectionsMax)
  }

  /// The defaults.
  package init() {}
}

/// The limits of what one ``Forwarder`` does and keeps, each with its unit in its name.
package struct ForwarderLimits: Sendable {
  /// How many bytes of header lines an upstream may send for one answer, interim answers included.
  ///
  /// More is a malformed answer.
  package var responseHeaderBytesMax = 128 * 1024
  /// How many bytes of an answer's body are read past what is kept, so that the connection can be
  /// used again.
  ///
  /// An answer that goes on after that still counts; its connection is cut.
  package var responseDrainBytesMax = 1024 * 1024
  /// How long a resolved address is used before the name is looked up again.
  package var nameCacheSeconds = 30
  /// How long an idle connection is kept; upstreams close theirs after a minute or so anyway.
  package var idleConnectionSeconds = 60
  /// How long a connection must be silent before the kernel asks whether the peer is still there.
  package var keepaliveIdleSeconds = 30
  /// How long the kernel waits between two such questions.
  package var keepaliveIntervalSeconds = 15
  /// How many bytes of a request the kernel takes before it has sent what came before.
  ///
  /// What has been written counts as sent, so this is by how much progress may be wrong, and what a
  /// slow link must carry within an idle timeout.
  package var unsentBytesMax = 32 * 1024
  /// How many idle connections are kept over all upstreams.
  package var idleConnectionsMax = 1024
  /// How many bytes of an error's words go into a report.
  package var errorDetailBytesMax = 300

  /// How many idle connections are kept where these upstreams are configured.
  func idleConnections(to targets: [UpstreamTarget]) -> Int {
    min(max(targets.reduce(0) { $0 + $1.maxConcurrent }, 1), idleConnectionsMax)
  }

  /// The limits as they stand unless someone changes them.
  package init() {}
}

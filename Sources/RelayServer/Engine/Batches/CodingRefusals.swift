import RelayCore
import Synchronization

/// The upstreams that have refused a request since it was compressed.
///
/// They get uncompressed ones until the configuration is read again.
final class CodingRefusals: Sendable {
  private let upstreams = Mutex<Set<UpstreamNumber>>([])

  func contains(_ upstream: UpstreamNumber) -> Bool {
    upstreams.withLock { $0.contains(upstream) }
  }

  /// Notes one.
  ///
  /// - Returns: Whether it is news.
  func insert(_ upstream: UpstreamNumber) -> Bool {
    upstreams.withLock { $0.insert(upstream).inserted }
  }

  func removeAll() { upstreams.withLock { $0 = [] } }
}

import RelayCore
import Synchronization

/// Upstreams of which one thing was noted since the configuration was last read.
final class UpstreamMarks: Sendable {
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

import EventLoop
import Forwarder
import RelayCore
import Synchronization

// Upstreams that are configured anew while the relay runs.
extension Dispatcher {
  /// The upstreams of a configuration, as dispatching goes by them.
  struct Upstreams: Sendable {
    var policies: [UpstreamNumber: UpstreamPolicy]
    /// The forwarder's targets; a target about which nothing has changed is the same object as
    /// before.
    var targets: [UpstreamNumber: UpstreamTarget]
  }

  /// The forwarder's target for an upstream.
  func target(of upstream: UpstreamNumber) -> UpstreamTarget? { targets.withLock { $0[upstream] } }

  /// Goes by another configuration of the upstreams from now on.
  ///
  /// An attempt that is under way ends where it was begun. An upstream that is sought elsewhere, or
  /// in another way, is tried at once, even if it was given up for the moment. How large its
  /// requests may be is forgotten, and what was noted of their answers.
  func configure(_ upstreams: Upstreams) {
    forgetMarks()
    let (changed, retired) = targets.withLock { targets in
      let changed = upstreams.targets.filter { targets[$0.key] !== $0.value }
      let retired = changed.keys.compactMap { targets[$0] }
      // The targets of those that are gone stay: what is about to be sent there is sent.
      targets.merge(upstreams.targets) { _, new in new }
      return (changed, retired)
    }
    let forwarder = apply { state, now in
      state.scheduler.configure(upstreams: upstreams.policies, now: now)
      for upstream in changed.keys.sorted() { state.scheduler.seekAnew(upstream, now: now) }
      state.runs.lookAtAll(in: &state.scheduler, now: now)
      return state.forwarder
    }
    forwarder?.configure(targets: Array(upstreams.targets.values), retired: retired)
  }

  /// Forgets which upstreams take no gzip, and which of them the log has told something of.
  func forgetMarks() {
    codingRefusals.removeAll()
    resultless.removeAll()
    needs.expire()
  }
}

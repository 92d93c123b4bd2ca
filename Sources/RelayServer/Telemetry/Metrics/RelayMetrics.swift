import EventLoop
import HTTPServer
import RelayCore
import Synchronization

/// Counts what happens since the start, for `/metrics`.
///
/// Each count is taken under a lock of its own that is held for some nanoseconds: several event
/// loops, the store's writer and the forwarder's thread do not wait for each other, and a look at
/// one histogram never shows its sum without its count.
package final class RelayMetrics: Sendable {
  /// The labels of listeners, each once: whom they are for, such as `devices`.
  package let listenerKinds: [String]
  /// For each listener, the index of its label in ``listenerKinds``.
  private let kinds: [Int]

  private let deliveryFigures = Mutex(DeliveryFigures())
  private let postFigures = Mutex(PostFigures())
  private let requestFigures: Mutex<RequestFigures>
  private let storeWaits = Mutex(Histogram(.storeMicroseconds))
  private let handshakeFailures: Mutex<[UInt64]>

  /// Begins with nothing counted.
  ///
  /// - Parameter listeners: Whom they are for, in the order of their numbers.
  package init(listeners: [ListenerConfiguration.Audience?]) {
    let names = listeners.map { $0?.rawValue ?? "everybody" }
    let kindNames = Set(names).sorted()
    listenerKinds = kindNames
    kinds = names.map { kindNames.firstIndex(of: $0) ?? 0 }
    requestFigures = Mutex(RequestFigures(kindCount: kindNames.count))
    handshakeFailures = Mutex([UInt64](repeating: 0, count: kindNames.count))
  }

  // MARK: - What is counted

  /// Upstreams became known; before anything is counted for them.
  func add(_ upstreams: [String], numbers: [String: UpstreamNumber]) {
    deliveryFigures.withLock { $0.add(upstreams, numbers: numbers) }
  }

  /// Envelopes of a post were answered.
  func count(_ result: PostFigures.Result, _ count: Int = 1) {
    postFigures.withLock { $0.count(result, count) }
  }

  /// All envelopes of a batch were answered.
  func count(batch results: some Sequence<PostFigures.Result>) {
    postFigures.withLock { figures in
      for result in results { figures.count(result) }
    }
  }

  /// A request with several envelopes was begun.
  func countBatch(of envelopes: Int, to upstream: UpstreamNumber) {
    deliveryFigures.withLock { $0.countBatch(of: envelopes, to: upstream) }
  }

  /// A quota had no room.
  func count(_ refusal: QuotaRefusal) { postFigures.withLock { $0.count(refusal) } }

  /// A request was answered.
  func count(_ request: AnsweredRequest) {
    let kind = kinds[request.listener]
    requestFigures.withLock { $0.count(request, kind: kind) }
  }

  /// Whoever posted has waited so long for the store.
  func count(storeWaitSince begin: MonotonicTime) {
    let tookUs = (MonotonicClock.now().nanoseconds - begin.nanoseconds) / 1000
    storeWaits.withLock { $0.observe(tookUs) }
  }

  /// A TLS handshake failed.
  func countHandshakeFailure(on listener: Int) {
    let kind = kinds[listener]
    handshakeFailures.withLock { $0[kind] &+= 1 }
  }

  // MARK: - What was counted

  /// Attempts and envelopes by their results.
  var deliveries: DeliveryFigures { deliveryFigures.withLock { $0 } }
  /// Counts of posts by their results.
  var posts: PostFigures { postFigures.withLock { $0 } }
  /// The requests.
  var requests: RequestFigures { requestFigures.withLock { $0 } }
  /// The times that posts waited for the store, in microseconds.
  var waitsForStore: Histogram { storeWaits.withLock { $0 } }
  /// The number of failed handshakes, for each kind of listener.
  var failedHandshakes: [UInt64] { handshakeFailures.withLock { $0 } }

  /// The connections of each kind of listener.
  func connections(of listeners: [Int: ListenerFigures]) -> [ListenerFigures] {
    var sums = [ListenerFigures](repeating: ListenerFigures(), count: listenerKinds.count)
    for (number, figures) in listeners {
      sums[kinds[number]].open += figures.open
      sums[kinds[number]].accepted += figures.accepted
      sums[kinds[number]].refused += figures.refused
    }
    return sums
  }
}

extension RelayMetrics: CommitListener {
  /// Counts attempts and ends; posts are counted where they are answered.
  package func committed(_ commit: Commit, at now: Now) {
    for change in commit.changes {
      switch change {
      case .changed(let transitions): deliveryFigures.withLock { $0.count(transitions) }
      case .cleared(let backlog): deliveryFigures.withLock { $0.count(backlog) }
      case .endsChanged(let changes): deliveryFigures.withLock { $0.count(changes) }
      case .accepted, .coalesced, .unwritten: break
      }
    }
  }
}

import CCurl
import EventLoop
import Glibc
import RelayCore
import Synchronization

/// The connections by which requests are passed on to another relay, on a thread of their own.
///
/// Each request has a connection to itself while it goes on, and leaves it to the next one.
package final class RelayLink: Sendable {
  /// The most connections that are kept for the next requests.
  static let idleConnectionsMax = 64
  /// The time for which one is kept, in seconds; less than the other relay keeps it for.
  static let idleConnectionSeconds = 10

  private let shared: LinkShared
  private let thread: Thread

  /// Starts the thread.
  ///
  /// - Throws: ``SystemError`` if there is no memory, or no room for one more thread.
  package init() throws(SystemError) {
    let shared = LinkShared(
      multi: try CurlMulti(
        idleConnectionsMax: Self.idleConnectionsMax, connections: OpenConnections()))
    self.shared = shared
    thread = try Thread.spawn(name: "relay-link") { LinkLoop(shared).run() }
  }

  /// Passes a request on to a relay; returns at once.
  ///
  /// May be called from any thread. After ``stop()`` nothing is sent, and the passage says so.
  package func pass(_ request: PassedRequest, to target: UpstreamTarget) -> Passage {
    let passage = Passage(request, to: target) { [shared] word, passage in
      shared.post(.word(word, passage))
    }
    let isTaken =
      request.goesWithOthers ? shared.queue(passage) : shared.post(.begin(passage))
    if !isTaken {
      passage.update { $0.finish(.failure(.stopped)) }
    }
    return passage
  }

  /// Breaks off everything that was passed on before.
  package func breakOff() { shared.post(.breakOff(nil)) }

  /// Breaks off what was passed on to a relay, and passes nothing on to it any more.
  package func leave(_ target: UpstreamTarget) {
    target.retire()
    shared.post(.breakOff(target))
  }

  /// Breaks everything off, and waits until the thread has ended.
  package func stop() {
    shared.end()
    thread.join()
  }

  deinit { shared.end() }
}

/// What the link's thread and its callers share.
final class LinkShared: Sendable {
  enum Order: Sendable {
    case begin(Passage)
    case word(Passage.Word, Passage)
    /// Of one relay, or all.
    case breakOff(UpstreamTarget?)
  }

  private struct Inbox {
    var orders: [Order] = []
    /// Posts that go together.
    var queue = PassingQueue<Passage>()
    /// Whether the thread was woken, and has not looked since.
    var isWoken = false
    var isEnding = false
  }

  let multi: CurlMulti
  private let inbox = Mutex(Inbox())

  init(multi: consuming CurlMulti) { self.multi = multi }

  /// Hands an order over; false if the thread is ending.
  @discardableResult
  func post(_ order: Order) -> Bool {
    put { inbox in
      inbox.orders.append(order)
      return true
    }
  }

  /// Hands over a request that goes with others; false if the thread is ending.
  ///
  /// While it has to wait nobody is woken: the thread looks again when an answer comes.
  func queue(_ passage: Passage) -> Bool {
    let bytes = PassedBundle.byteCount(of: passage.request)
    return put { inbox in
      inbox.queue.append(passage, bytes: bytes, at: MonotonicClock.now())
      return inbox.queue.hasRoom
    }
  }

  /// Changes the inbox, and wakes the thread if it has to look; false if it is ending.
  private func put(_ change: @Sendable (inout Inbox) -> Bool) -> Bool {
    let wakes: Bool? = inbox.withLock { inbox in
      guard !inbox.isEnding else { return nil }
      guard change(&inbox), !inbox.isWoken else { return false }
      inbox.isWoken = true
      return true
    }
    if wakes == true { multi.wakeUp() }
    return wakes != nil
  }

  func end() {
    inbox.withLock { $0.isEnding = true }
    multi.wakeUp()
  }

  func take() -> (orders: [Order], isEnding: Bool) {
    inbox.withLock { inbox in
      defer { (inbox.orders, inbox.isWoken) = ([], false) }
      return (inbox.orders, inbox.isEnding)
    }
  }

  /// Looks at the queue, or changes it.
  func withQueue<Value: Sendable>(
    _ body: @Sendable (inout PassingQueue<Passage>) -> Value
  ) -> Value {
    inbox.withLock { body(&$0.queue) }
  }
}

extension PassingFailure {
  /// Nothing is passed on any more.
  static let stopped = PassingFailure(reason: "this relay is shutting down", isWritten: false)
}

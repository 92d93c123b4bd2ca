import EventLoop
import RelayCore
import Synchronization

/// Carries out attempts, many at a time, on one thread of its own, with libcurl's multi interface.
///
/// Every request that ``submit(_:)`` accepts ends up in exactly one ``AttemptBatch``. There is no
/// polling: with nothing under way the thread sleeps until it is woken.
package final class Forwarder: Sendable {
  /// Receives the results of attempts.
  ///
  /// Called on the forwarder's thread, at most twice a turn of its loop; all transfers wait
  /// meanwhile.
  package typealias Delivery = @Sendable (AttemptBatch) -> Void

  private let shared: ForwarderShared
  private let thread: Thread

  /// Starts the forwarder's thread.
  ///
  /// - Parameters:
  ///   - targets: The configured upstreams; they decide how many idle connections are kept. A
  ///     request to another upstream works as well.
  ///   - name: The thread's name.
  ///   - bodies: Reads large bodies that are no files on this machine; nil if all are.
  ///   - mayWrite: Whether requests may be written now. It is asked right before each is, on the
  ///     forwarder's thread: a process that was stopped in the middle of an attempt must not write
  ///     when it goes on, if another relay may have made the attempt since. An attempt that may not
  ///     be written is reported as ``ConnectionFailure/brokenOff``.
  ///   - deliver: Receives the results.
  /// - Throws: ``SystemError`` if there is no memory, or no room for one more thread.
  package init(
    targets: [UpstreamTarget], limits: ForwarderLimits = ForwarderLimits(),
    name: String = "forwarder", bodies: BodyReading? = nil,
    mayWrite: @escaping @Sendable () -> Bool = { true }, deliver: @escaping Delivery
  ) throws(SystemError) {
    let shared = ForwarderShared(
      multi: try CurlMulti(
        idleConnectionsMax: limits.idleConnections(to: targets),
        connections: OpenConnections(unsentBytesMax: limits.unsentBytesMax)),
      pauses: try CurlMulti(idleConnectionsMax: 1, connections: OpenConnections()))
    self.shared = shared
    thread = try Thread.spawn(name: name) {
      ForwarderLoop(
        shared: shared, targets: targets, limits: limits, bodies: bodies, mayWrite: mayWrite,
        deliver: deliver
      ).run()
    }
  }

  /// Begins attempts in this order; returns at once.
  ///
  /// May be called from any thread.
  ///
  /// - Returns: false after ``shutdown()``; nothing is begun then.
  /// - Precondition: None of the envelopes has a running attempt.
  @discardableResult
  package func submit(_ requests: [AttemptRequest]) -> Bool {
    shared.post { $0.submit(requests) }
  }

  /// Calls attempts off; returns at once.
  ///
  /// May be called from any thread. Running attempts are reported as
  /// ``ConnectionFailure/brokenOff``, and those that have not begun come back in
  /// ``AttemptBatch/withdrawn``. The others were or will be reported as they ended.
  package func cancel(_ serials: some Sequence<Serial>) {
    shared.post { $0.cancel(serials) }
  }

  /// Calls off all attempts that were submitted before.
  package func cancelAll() {
    shared.post { $0.cancelAll() }
  }

  /// Has the attempts that are submitted from now on ask for an access token, even if the server
  /// that gives them has just refused one.
  package func askAnewForToken(of target: UpstreamTarget) {
    guard target.tokens != nil else { return }
    shared.post { $0.renew(target) }
  }

  /// Changes the configured upstreams; running attempts continue as they were begun.
  ///
  /// - Parameters:
  ///   - targets: The upstreams that are configured now.
  ///   - retired: The upstreams that were replaced; requests that are still submitted for them are
  ///     sent.
  package func configure(targets: [UpstreamTarget], retired: [UpstreamTarget]) {
    for target in retired { target.retire() }
    shared.post { $0.configure(targets) }
  }

  /// The progress of running attempts.
  ///
  /// It costs the transfers only the moment of answering. Any task may ask.
  ///
  /// - Parameter serials: The envelopes; nil for all.
  /// - Returns: One for each of their attempts that has begun and not ended, in no particular
  ///   order.
  package func progress(of serials: Set<Serial>? = nil) async -> [AttemptProgress] {
    await withCheckedContinuation { continuation in
      let question = ProgressQuery(serials: serials) { continuation.resume(returning: $0) }
      if !shared.post({ $0.ask(question) }) { continuation.resume(returning: []) }
    }
  }

  /// Runs a closure on the forwarder's thread; returns at once.
  ///
  /// - Parameter work: All transfers wait while it runs.
  /// - Returns: false after ``shutdown()``; nothing is run then.
  @discardableResult
  package func perform(_ work: @escaping @Sendable () -> Void) -> Bool {
    shared.post { $0.ask(ProgressQuery(serials: []) { _ in work() }) }
  }

  /// Calls off all attempts, and waits until that has been reported and the thread has ended.
  ///
  /// - Precondition: Not called from the delivery.
  package func shutdown() {
    shared.post { $0.stop() }
    thread.join()
  }

  deinit {
    // Nobody is left to receive reports; the thread calls off running attempts, and ends by itself.
    shared.post { $0.stop() }
  }
}

/// The state shared by the forwarder's thread and its callers.
final class ForwarderShared: Sendable {
  let multi: CurlMulti
  /// A handle without transfers, so that only a wake-up ends a wait on it.
  private let pauses: CurlMulti
  private let inbox = Mutex(ForwarderInbox())

  init(multi: consuming CurlMulti, pauses: consuming CurlMulti) {
    self.multi = multi
    self.pauses = pauses
  }

  /// Puts something into the inbox, and wakes the thread if it sleeps.
  func post<Result>(_ body: (inout sending ForwarderInbox) -> sending Result) -> sending Result {
    var sleep = ForwarderInbox.Sleep.none
    let result = inbox.withLock { inbox in
      let result = body(&inbox)
      if !inbox.isEmpty { swap(&sleep, &inbox.sleep) }
      return result
    }
    switch sleep {
    case .none: break
    case .waiting: multi.wakeUp()
    case .pausing: pauses.wakeUp()
    }
    return result
  }

  /// Takes the inbox's content; the thread counts as awake from then on.
  func takeInbox() -> ForwarderInbox {
    inbox.withLock { $0.take() }
  }

  /// Waits until a transfer needs something, or the inbox gets something; returns at once if it has
  /// something already.
  ///
  /// Only a waiting thread is woken: ``ForwarderInbox/sleep`` tells, under the same lock.
  ///
  /// - Parameter milliseconds: The longest time to wait.
  func waitUnlessCalled(milliseconds: Int32) {
    guard fallAsleep(.waiting) else { return }
    multi.wait(milliseconds: milliseconds)
    inbox.withLock { $0.sleep = .none }
  }

  /// Waits in the same way, but ignores transfers.
  func pauseUnlessCalled(milliseconds: Int32) {
    guard fallAsleep(.pausing) else { return }
    pauses.wait(milliseconds: milliseconds)
    inbox.withLock { $0.sleep = .none }
  }

  /// Notes that the thread sleeps from now on; false if the inbox has something already.
  private func fallAsleep(_ sleep: ForwarderInbox.Sleep) -> Bool {
    inbox.withLock { inbox in
      guard inbox.isEmpty else { return false }
      inbox.sleep = sleep
      return true
    }
  }
}

import EventLoop
import RelayCore
import Synchronization

/// Carries out attempts: many at a time, on one thread of its own, with libcurl's multi interface.
///
/// Every request that ``submit(_:)`` takes ends up in exactly one ``AttemptBatch``. Nothing polls:
/// with nothing under way the thread sleeps until it is woken.
package final class Forwarder: Sendable {
  /// Takes what came of attempts.
  ///
  /// Called on the forwarder's thread, once a turn of its loop, and holds all transfers up while it
  /// runs.
  package typealias Delivery = @Sendable (AttemptBatch) -> Void

  private let shared: ForwarderShared
  private let thread: Thread

  /// Starts the forwarder's thread.
  ///
  /// - Parameters:
  ///   - targets: The upstreams that are configured; decides how many idle connections are kept.
  ///     A request to another one works as well.
  ///   - name: The thread's.
  ///   - deliver: Takes what came of attempts.
  /// - Throws: If there is no memory, or no room for one more thread.
  package init(
    targets: [UpstreamTarget], limits: ForwarderLimits = ForwarderLimits(),
    name: String = "forwarder", deliver: @escaping Delivery
  ) throws(SystemError) {
    let shared = ForwarderShared(
      multi: try CurlMulti(
        idleConnectionsMax: limits.idleConnections(to: targets),
        connections: OpenConnections(unsentBytesMax: limits.unsentBytesMax)),
      pauses: try CurlMulti(idleConnectionsMax: 1, connections: OpenConnections()))
    self.shared = shared
    thread = try Thread.spawn(name: name) {
      ForwarderLoop(shared: shared, limits: limits, deliver: deliver).run()
    }
  }

  /// Begins attempts, in this order; returns at once.
  ///
  /// Any thread may call.
  ///
  /// - Returns: false, with nothing begun, after ``shutdown()``.
  /// - Precondition: None of the envelopes has an attempt under way.
  @discardableResult
  package func submit(_ requests: [AttemptRequest]) -> Bool {
    shared.post { $0.submit(requests) }
  }

  /// Calls attempts off; returns at once.
  ///
  /// Any thread may call. Those that are still under way are reported as
  /// ``ConnectionFailure/brokenOff``, and those that have not begun come back in
  /// ``AttemptBatch/withdrawn``; the others have been, or are about to be, reported as they ended.
  package func cancel(_ serials: some Sequence<Serial>) {
    shared.post { $0.cancel(serials) }
  }

  /// Calls all attempts off that were submitted before.
  package func cancelAll() {
    shared.post { $0.cancelAll() }
  }

  /// Goes by other upstreams from now on; attempts that are under way go on as they were begun.
  ///
  /// - Parameters:
  ///   - targets: The upstreams that are configured now.
  ///   - retired: Those whose place others have taken; what is submitted for them still is sent.
  package func configure(targets: [UpstreamTarget], retired: [UpstreamTarget]) {
    for target in retired { target.retire() }
    shared.post { $0.configure(targets) }
  }

  /// How far attempts have come that are under way.
  ///
  /// Costs the transfers nothing but the moment in which it is answered. Any task may ask.
  ///
  /// - Parameter serials: Whose; nil for all.
  /// - Returns: One for each of them that has begun and not ended, in no order.
  package func progress(of serials: Set<Serial>? = nil) async -> [AttemptProgress] {
    await withCheckedContinuation { continuation in
      let question = ProgressQuestion(serials: serials) { continuation.resume(returning: $0) }
      if !shared.post({ $0.ask(question) }) { continuation.resume(returning: []) }
    }
  }

  /// Has something done on the forwarder's thread, and returns at once.
  ///
  /// - Parameter work: Holds all transfers up while it runs.
  /// - Returns: false, with nothing done, after ``shutdown()``.
  @discardableResult
  package func perform(_ work: @escaping @Sendable () -> Void) -> Bool {
    shared.post { $0.ask(ProgressQuestion(serials: []) { _ in work() }) }
  }

  /// Calls all attempts off, and waits until that has been reported and the thread has ended.
  ///
  /// - Precondition: Not called from the delivery.
  package func shutdown() {
    shared.post { $0.stop() }
    thread.join()
  }

  deinit {
    // Nobody is left to be told; the thread calls off what is under way, and ends by itself.
    shared.post { $0.stop() }
  }
}

/// What the forwarder's thread and its callers both hold.
final class ForwarderShared: Sendable {
  let multi: CurlMulti
  /// Has no transfers, so that only being woken ends a wait on it.
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

  /// What has come in; the thread counts as awake from now on.
  func takeInbox() -> ForwarderInbox {
    inbox.withLock { $0.take() }
  }

  /// Waits until a transfer needs something, or something comes in; returns at once if something
  /// has come in already.
  ///
  /// Only a thread that waits is woken: ``ForwarderInbox/sleep`` says so, under the same lock.
  ///
  /// - Parameter milliseconds: How long to wait at the most.
  func waitUnlessCalled(milliseconds: Int32) {
    guard fallAsleep(.waiting) else { return }
    multi.wait(milliseconds: milliseconds)
    inbox.withLock { $0.sleep = .none }
  }

  /// Waits likewise, but whatever transfers need.
  func pauseUnlessCalled(milliseconds: Int32) {
    guard fallAsleep(.pausing) else { return }
    pauses.wait(milliseconds: milliseconds)
    inbox.withLock { $0.sleep = .none }
  }

  /// Notes that the thread sleeps from now on; false if something has come in already.
  private func fallAsleep(_ sleep: ForwarderInbox.Sleep) -> Bool {
    inbox.withLock { inbox in
      guard inbox.isEmpty else { return false }
      inbox.sleep = sleep
      return true
    }
  }
}

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
    if !shared.post(.begin(passage)) {
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
private final class LinkShared: Sendable {
  enum Order: Sendable {
    case begin(Passage)
    case word(Passage.Word, Passage)
    /// Of one relay, or all.
    case breakOff(UpstreamTarget?)
  }

  private struct Inbox {
    var orders: [Order] = []
    var isEnding = false
  }

  let multi: CurlMulti
  private let inbox = Mutex(Inbox())

  init(multi: consuming CurlMulti) { self.multi = multi }

  /// Hands an order over; false if the thread is ending.
  @discardableResult
  func post(_ order: Order) -> Bool {
    let isFirst: Bool? = inbox.withLock { inbox in
      guard !inbox.isEnding else { return nil }
      inbox.orders.append(order)
      return inbox.orders.count == 1
    }
    guard let isFirst else { return false }
    // Whoever has put the first one in has woken the thread already.
    if isFirst { multi.wakeUp() }
    return true
  }

  func end() {
    inbox.withLock { $0.isEnding = true }
    multi.wakeUp()
  }

  func take() -> (orders: [Order], isEnding: Bool) {
    inbox.withLock { inbox in
      defer { inbox.orders = [] }
      return (inbox.orders, inbox.isEnding)
    }
  }
}

/// The work of the link's thread.
private final class LinkLoop {
  /// The longest sleep in milliseconds, if nothing wakes the thread before.
  private static let sleepMs: Int32 = 60_000

  private let shared: LinkShared
  private let limits: ForwarderLimits
  private var running: [ObjectIdentifier: PassingTransfer] = [:]
  private var idle: [PassingTransfer] = []
  /// Watches the relay that requests went to last.
  private var watch = LinkWatch()
  private weak var watched: UpstreamTarget?
  /// The question whether it is there.
  private var question: Passage?
  /// Until when connections that are kept are not used: they may lead nowhere.
  private var anewUntil = MonotonicTime(nanoseconds: 0)

  init(_ shared: LinkShared) {
    self.shared = shared
    var limits = ForwarderLimits()
    limits.idleConnectionSeconds = RelayLink.idleConnectionSeconds
    self.limits = limits
  }

  func run() {
    // OpenSSL writes without MSG_NOSIGNAL; see ForwarderLoop.
    Signals.block([SIGPIPE])
    while true {
      let (orders, isEnding) = shared.take()
      for order in orders { carryOut(order) }
      if isEnding { break }
      shared.multi.perform()
      collect()
      shared.multi.wait(milliseconds: look())
    }
    for transfer in running.values { breakOff(transfer, .stopped) }
    running = [:]
    // Easy handles are freed before the multi handle: curl_multi_cleanup(3).
    idle = []
  }

  private func carryOut(_ order: LinkShared.Order) {
    switch order {
    case .begin(let passage): begin(passage)
    case .breakOff(let target):
      for (key, transfer) in running where target == nil || transfer.target === target {
        running[key] = nil
        breakOff(transfer, .replaced)
      }
    case .word(let word, let passage):
      guard let transfer = running[ObjectIdentifier(passage)] else { return }
      switch word {
      case .goOn: transfer.handle.goOn()
      case .breakOff:
        running[ObjectIdentifier(passage)] = nil
        breakOff(transfer, .brokenOff)
      }
    }
  }

  // MARK: - Silence

  /// Looks whether the other relay can be heard.
  ///
  /// - Returns: The longest sleep until the next look, in milliseconds.
  private func look() -> Int32 {
    let now = MonotonicClock.now()
    var (isHeard, isAwaited) = (false, false)
    for transfer in running.values where transfer.target === watched {
      isAwaited = true
      if transfer.takeHeard() { isHeard = true }
    }
    guard isAwaited else {
      watch.rest()
      return Self.sleepMs
    }
    if isHeard { watch.hear(at: now) }
    while true {
      switch watch.step(at: now) {
      case .wait(let milliseconds):
        return milliseconds.map { Int32(clamping: $0 + 1) } ?? Self.sleepMs
      case .ask: ask()
      case .giveUp: giveUp(at: now)
      }
    }
  }

  /// Asks the relay whether it is there, as a sender would whose request is under way.
  private func ask() {
    guard let asker = running.values.first(where: { $0.target === watched })?.passage else {
      return
    }
    let request = PassedRequest(
      method: "HEAD", target: Array("/healthz".utf8), fields: asker.request.fields,
      body: .whole([]))
    let question = Passage(request, to: asker.target) { _, _ in }
    self.question = question
    begin(question)
  }

  private func giveUp(at now: MonotonicTime) {
    anewUntil = now.adding(milliseconds: Int64(RelayLink.idleConnectionSeconds) * 1000)
    for (key, transfer) in running where transfer.target === watched {
      running[key] = nil
      breakOff(transfer, .silent)
    }
    question = nil
  }

  // MARK: - Requests

  private func begin(_ passage: Passage) {
    guard !passage.target.isRetired else {
      return passage.update { $0.finish(.failure(.nobody(PassingFailure.replaced.reason))) }
    }
    do throws(SystemError) {
      let transfer = try transfer(to: passage.target)
      let now = MonotonicClock.now()
      try transfer.prepare(passage, overNewConnection: now < anewUntil)
      if watched !== passage.target { (watch, watched) = (LinkWatch(), passage.target) }
      watch.expect(at: now)
      guard shared.multi.add(transfer.handle) else {
        transfer.release()
        return passage.update { $0.finish(.failure(.lackOfMemory)) }
      }
      running[ObjectIdentifier(passage)] = transfer
    } catch {
      passage.update { $0.finish(.failure(.lackOfMemory)) }
    }
  }

  private func transfer(to target: UpstreamTarget) throws(SystemError) -> PassingTransfer {
    idle.removeAll { $0.target !== target }
    if let kept = idle.popLast() { return kept }
    return try PassingTransfer(to: target, limits: limits, connections: shared.multi.connections)
  }

  private func breakOff(_ transfer: PassingTransfer, _ failure: PassingFailure) {
    // Its connection is closed, since an answer is still to come on it.
    shared.multi.remove(transfer.handle)
    let ended = PassingFailure(reason: failure.reason, isWritten: transfer.isWritten)
    transfer.passage?.update { $0.finish(.failure(ended)) }
    transfer.release()
  }

  private func collect() {
    while let (transfer, code) = shared.multi.nextEnded(PassingTransfer.self) {
      shared.multi.remove(transfer.handle)
      if transfer.beginsAnew(code), shared.multi.add(transfer.handle) { continue }
      if let passage = transfer.passage { running[ObjectIdentifier(passage)] = nil }
      if transfer.target === watched, transfer.takeHeard() { watch.hear(at: MonotonicClock.now()) }
      transfer.finish(code)
      if idle.count < RelayLink.idleConnectionsMax { idle.append(transfer) }
    }
  }
}

extension PassingFailure {
  fileprivate static let stopped = PassingFailure(
    reason: "this relay is shutting down", isWritten: false)
  fileprivate static let replaced = PassingFailure(
    reason: "another relay has taken the store from it", isWritten: true)
  fileprivate static let silent = PassingFailure(
    reason: "nothing was heard of it for seconds, and it did not answer a question",
    isWritten: true)
  fileprivate static let lackOfMemory = PassingFailure(
    reason: "there is no memory for it", isWritten: false)
}

import CCurl
import EventLoop
import Glibc
import RelayCore

/// The work of the link's thread.
final class LinkLoop {
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
  /// Which of those that run have come from the queue of posts.
  private var fromQueue: Set<ObjectIdentifier> = []
  /// A relay that takes no bundles: one of an older release.
  private weak var refusing: UpstreamTarget?
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
      sendQueued()
      shared.multi.perform()
      collect()
      sendQueued()
      shared.multi.wait(milliseconds: min(look(), untilQueueIsDue))
    }
    failQueued(.stopped)
    for transfer in running.values { breakOff(transfer, .stopped) }
    running = [:]
    // Easy handles are freed before the multi handle: curl_multi_cleanup(3).
    idle = []
  }

  private func carryOut(_ order: LinkShared.Order) {
    switch order {
    case .begin(let passage): begin(passage)
    case .breakOff(let target):
      failQueued(.nobody(PassingFailure.replaced.reason), to: target)
      for (key, transfer) in running where target == nil || transfer.target === target {
        forget(key)
        breakOff(transfer, .replaced)
      }
    case .word(let word, let passage):
      guard let transfer = running[ObjectIdentifier(passage)] else { return }
      switch word {
      case .goOn: transfer.handle.goOn()
      case .breakOff:
        forget(ObjectIdentifier(passage))
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
    guard let asker = running.values.first(where: { $0.target === watched })?.cargo else {
      return
    }
    let request = PassedRequest(
      method: "HEAD", target: Array("/healthz".utf8), fields: asker.sample.fields, body: .whole([]))
    let question = Passage(request, to: asker.target) { _, _ in }
    self.question = question
    begin(question)
  }

  private func giveUp(at now: MonotonicTime) {
    anewUntil = now.adding(milliseconds: Int64(RelayLink.idleConnectionSeconds) * 1000)
    for (key, transfer) in running where transfer.target === watched {
      forget(key)
      breakOff(transfer, .silent)
    }
    question = nil
  }

  // MARK: - Requests

  private func begin(_ cargo: any PassingCargo) {
    guard !cargo.target.isRetired else {
      return cargo.finish(.failure(.nobody(PassingFailure.replaced.reason)))
    }
    do throws(SystemError) {
      let transfer = try transfer(to: cargo.target)
      let now = MonotonicClock.now()
      try transfer.prepare(cargo, overNewConnection: now < anewUntil)
      if watched !== cargo.target { (watch, watched) = (LinkWatch(), cargo.target) }
      watch.expect(at: now)
      guard shared.multi.add(transfer.handle) else {
        transfer.release()
        return cargo.finish(.failure(.lackOfMemory))
      }
      running[ObjectIdentifier(cargo)] = transfer
    } catch {
      cargo.finish(.failure(.lackOfMemory))
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
    transfer.cargo?.finish(.failure(ended))
    transfer.release()
  }

  private func collect() {
    while let (transfer, code) = shared.multi.nextEnded(PassingTransfer.self) {
      shared.multi.remove(transfer.handle)
      if transfer.beginsAnew(code), shared.multi.add(transfer.handle) { continue }
      let cargo = transfer.cargo
      if let cargo { forget(ObjectIdentifier(cargo)) }
      if transfer.target === watched, transfer.takeHeard() { watch.hear(at: MonotonicClock.now()) }
      transfer.finish(code)
      if idle.count < RelayLink.idleConnectionsMax { idle.append(transfer) }
      if let bundle = cargo as? BundleCargo, let refusal = bundle.refusal {
        beginSingly(bundle, refusal)
      }
    }
  }

  /// Forgets one that has ended, or is about to.
  private func forget(_ key: ObjectIdentifier) {
    running[key] = nil
    if fromQueue.remove(key) != nil { shared.withQueue { $0.end() } }
  }

  // MARK: - Posts that go together

  private func sendQueued() {
    while let passages = shared.withQueue({ $0.next(at: MonotonicClock.now()) }) {
      // Those that are given up meanwhile have ended.
      var rest = passages.filter { !$0.isOver }[...]
      var key: ObjectIdentifier?
      while let target = rest.first?.target {
        // The same relay has another target once its certificates were read again.
        let run = rest.prefix { $0.target === target }
        rest = rest.dropFirst(run.count)
        for cargo in cargoes(of: Array(run)) {
          begin(cargo)
          if running[ObjectIdentifier(cargo)] != nil { key = ObjectIdentifier(cargo) }
        }
      }
      if let key { fromQueue.insert(key) } else { shared.withQueue { $0.end() } }
    }
  }

  private func cargoes(of passages: [Passage]) -> [any PassingCargo] {
    passages.count == 1 || passages[0].target === refusing ? passages : [BundleCargo(passages)]
  }

  /// Each goes by itself; and so do later ones, if the other relay knows of no bundles.
  private func beginSingly(_ bundle: BundleCargo, _ refusal: BundleCargo.Refusal) {
    if refusal == .unknown { refusing = bundle.target }
    for passage in bundle.passages where !passage.isOver { begin(passage) }
  }

  /// Fails those that wait to go to a relay; nil for any.
  private func failQueued(_ failure: PassingFailure, to target: UpstreamTarget? = nil) {
    let failed = shared.withQueue { queue in
      queue.takeWaiting { target == nil || $0.target === target }
    }
    for passage in failed { passage.finish(.failure(failure)) }
  }

  /// The longest sleep until the queue has to be looked at, in milliseconds.
  private var untilQueueIsDue: Int32 {
    let leftMs = shared.withQueue { $0.leftMs(at: MonotonicClock.now()) }
    return leftMs.map { Int32(clamping: $0 + 1) } ?? Self.sleepMs
  }
}

extension PassingFailure {
  fileprivate static let replaced = PassingFailure(
    reason: "another relay has taken the store from it", isWritten: true)
  fileprivate static let silent = PassingFailure(
    reason: "nothing was heard of it for seconds, and it did not answer a question",
    isWritten: true)
  fileprivate static let lackOfMemory = PassingFailure(
    reason: "there is no memory for it", isWritten: false)
}

import EventLoop
import Forwarder
import RelayCore
import Synchronization

/// Sends spans to the collector: what to send when is ``SpanQueue``'s to say.
///
/// It has a forwarder of its own, and so a thread and connections of its own: no attempt waits for
/// a collector, and spans are written as JSON on that thread. Where tracing is off there is neither
/// a thread nor a timer, and while nothing waits none wakes up.
final class SpanExporter: Sendable {
  /// A collector, as it is configured.
  struct Link: Sendable {
    fileprivate let forwarder: Forwarder
    fileprivate let target: UpstreamTarget
    fileprivate let requestTarget: [UInt8]
    fileprivate let document: OTLPDocument
  }

  fileprivate struct State {
    var queue = SpanQueue()
    var link: Link?
    /// The number of the latest batch.
    ///
    /// It grows with each, and with each collector, so that what came of one that has been given up
    /// does not count.
    var batchNumber: Serial = 0
    var alarm = Alarm()
    /// Whether the thread has been told to look.
    var isCalled = false
    var random = SystemRandomNumberGenerator()
    var isFailing = false
    var fullToldAt: MonotonicTime?
    var droppedSinceTold: Int64 = 0
    var lastWaiter: CheckedContinuation<Void, Never>?
  }

  /// The least time between two lines on spans that found no room, in milliseconds.
  private static let fullToldEveryMs: Int64 = 60_000

  private let state = Mutex(State())
  private let alarmTimer = AlarmTimer()
  private let loop: EventLoop
  private let log: Log

  init(loop: EventLoop, log: Log) {
    self.loop = loop
    self.log = log
  }

  /// The counts of spans so far.
  var figures: SpanQueue.Figures { state.withLock { $0.queue.figures } }

  // MARK: - The collector

  /// Prepares what a configuration says; nil if it names no collector.
  ///
  /// - Parameter files: What the files that it names held when they were read.
  /// - Throws: If a header is one that the relay sets itself, or there is no room for a thread.
  func link(to configuration: TracingConfiguration, _ files: UpstreamFiles) throws -> Link? {
    guard let target = try configuration.target(files) else { return nil }
    let present = state.withLock { $0.link?.forwarder }
    let forwarder = try present ?? newForwarder(to: target)
    return Link(
      forwarder: forwarder, target: target, requestTarget: configuration.requestTarget,
      document: OTLPDocument(serviceName: configuration.serviceName))
  }

  private func newForwarder(to target: UpstreamTarget) throws(SystemError) -> Forwarder {
    try Forwarder(targets: [target], name: "tracing") { [weak self] in self?.delivered($0) }
  }

  /// Exports to this collector from now on, or not at all.
  func update(to link: Link?, _ limits: SpanQueue.Limits) {
    let old = state.withLock { state -> Link? in
      let old = state.link
      state.link = link
      state.queue.limits = limits
      state.batchNumber += 1
      state.queue.collectorChanged()
      state.isCalled = false
      if link == nil {
        state.queue.abandon()
        state.alarm.cancel()
      }
      return old
    }
    if link == nil { alarmTimer.cancel() }
    if let old, let link {
      old.forwarder.cancelAll()
      link.forwarder.configure(targets: [link.target], retired: [old.target])
    }
    look()
  }

  // MARK: - Spans

  /// Adds spans; returns at once, whatever the collector does.
  func export(_ spans: [TraceSpan]) {
    guard !spans.isEmpty else { return }
    let now = MonotonicClock.now()
    let told = state.withLock { state -> Int64? in
      guard state.link != nil else { return nil }
      for span in spans {
        if !state.queue.add(span, at: now) { state.droppedSinceTold += 1 }
      }
      return state.takeDropped(at: now, everyMs: Self.fullToldEveryMs)
    }
    if let told { tellDropped(told) }
    look()
  }

  /// So many ends were not looked up, since there were too many at once.
  func countSkipped(_ count: Int) {
    guard count > 0 else { return }
    state.withLock { $0.queue.countSkipped(count) }
  }

  private func tellDropped(_ count: Int64) {
    log.warning(
      "spans were dropped, since the collector does not take them in time",
      ("count", .integer(count)))
  }

  /// Has a batch sent, or sets the timer for it.
  private func look() {
    let now = MonotonicClock.now()
    let (forwarder, alarm) = state.withLock { state -> (Forwarder?, Alarm.Setting?) in
      guard let link = state.link, !state.isCalled else { return (nil, nil) }
      switch state.queue.outlook(at: now) {
      case .nothing: return (nil, nil)
      case .wait(let time): return (nil, state.alarm.set(for: time))
      case .send:
        state.isCalled = true
        return (link.forwarder, nil)
      }
    }
    if let alarm { alarmTimer.set(alarm, on: loop) { [weak self] in self?.rang(alarm) } }
    forwarder?.perform { [weak self] in self?.send() }
  }

  private func rang(_ setting: Alarm.Setting) {
    guard state.withLock({ $0.alarm.rang(setting) }) else { return }
    look()
  }

  /// Sends a batch; on the forwarder's thread.
  private func send() {
    let now = MonotonicClock.now()
    let taken = state.withLock { state -> (Link, [TraceSpan], Serial)? in
      state.isCalled = false
      guard let link = state.link, let batch = state.queue.takeBatch(at: now) else { return nil }
      state.batchNumber += 1
      return (link, batch, state.batchNumber)
    }
    guard let (link, batch, number) = taken else { return }
    var headers = HeaderBlock()
    headers.append(name: "Content-Type", value: "application/json")
    let content = EnvelopeContent(
      method: "POST", target: link.requestTarget, headers: headers,
      body: .inline(link.document.request(batch)))
    var request = AttemptRequest(
      serial: number, id: EnvelopeID(high: 0, low: 0), client: "", attempt: 1,
      acceptedAt: WallClock.now(), target: link.target, content: content)
    request.isOwn = true
    link.forwarder.submit([request])
  }

  /// Takes the result of a batch; called on the forwarder's thread.
  private func delivered(_ ended: AttemptBatch) {
    let now = Now(wall: WallClock.now(), monotonic: MonotonicClock.now())
    for report in ended.reports {
      let outcome = SpanQueue.Outcome(report, at: now.wall)
      let (news, waiter) = state.withLock { state -> (Bool?, CheckedContinuation<Void, Never>?) in
        guard report.serial == state.batchNumber else { return (nil, nil) }
        state.queue.ended(outcome, at: now.monotonic, random: &state.random)
        let isNews = state.queue.isFailing != state.isFailing
        state.isFailing = state.queue.isFailing
        return (isNews ? state.isFailing : nil, state.takeWaiter())
      }
      if let news { tell(isFailing: news, report) }
      waiter?.resume()
    }
    look()
  }

  private func tell(isFailing: Bool, _ report: AttemptReport) {
    guard isFailing else { return log.info("spans are exported again") }
    let error =
      if case .answered(let answer) = report.event {
        "the collector answered \(answer.status)"
      } else {
        report.sentence
      }
    log.warning("spans cannot be exported", ("error", .text(error)))
  }

  // MARK: - End

  /// The relay is about to end: nothing waits for others to go with.
  func hurry() {
    state.withLock { $0.queue.hurry() }
    look()
  }

  /// Tries once to send what waits, but no longer than until then, and ends the thread.
  func stop(until deadline: MonotonicTime) async {
    if MonotonicClock.now() < deadline {
      state.withLock { $0.queue.tryOnceMore() }
      let cutOff = loop.schedule(at: deadline) { [weak self] in self?.giveUp() }
      look()
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state -> Bool in
          guard state.link != nil, !state.queue.isEmpty else { return true }
          state.lastWaiter = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
      _ = cutOff.cancel()
    }
    end()
  }

  private func giveUp() {
    let (waiter, left) = state.withLock { state in
      let left = state.queue.figures.waiting
      state.queue.abandon()
      return (state.takeWaiter(), left)
    }
    if left > 0 { log.warning("spans were not exported", ("count", .integer(Int64(left)))) }
    waiter?.resume()
  }

  private func end() {
    giveUp()
    let link = state.withLock { state in
      defer { state.link = nil }
      state.alarm.cancel()
      return state.link
    }
    alarmTimer.cancel()
    link?.forwarder.shutdown()
  }
}

extension SpanExporter.State {
  /// Whoever waits for the queue to be empty, if it is.
  fileprivate mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
    guard queue.isEmpty else { return nil }
    defer { lastWaiter = nil }
    return lastWaiter
  }

  /// The number dropped since the last report, if a report is due now.
  fileprivate mutating func takeDropped(at now: MonotonicTime, everyMs: Int64) -> Int64? {
    guard droppedSinceTold > 0,
      fullToldAt.map({ now.milliseconds(since: $0) >= everyMs }) ?? true
    else { return nil }
    fullToldAt = now
    defer { droppedSinceTold = 0 }
    return droppedSinceTold
  }
}

extension SpanQueue.Outcome {
  /// The meaning of a collector's answer (OTLP 1.x, "OTLP/HTTP Response").
  init(_ report: AttemptReport, at now: WallTime) {
    switch report.event {
    case .failed: self = .tryAgain(afterMs: nil)
    case .unsendable: self = .refused
    case .answered(let answer):
      switch answer.status {
      case 200...299: self = .taken(rejectedCount: OTLPDocument.rejectedCount(in: answer.body))
      case 429, 502, 503, 504: self = .tryAgain(afterMs: report.retryAfterMs(at: now))
      default: self = .refused
      }
    }
  }
}

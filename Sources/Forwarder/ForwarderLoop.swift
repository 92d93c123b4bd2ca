import CCurl
import EventLoop
import Glibc
import RelayCore

/// The work of the forwarder's thread: take the inbox, let libcurl work, report ended attempts,
/// sleep.
final class ForwarderLoop {
  private let shared: ForwarderShared
  private let limits: ForwarderLimits
  private let deliver: Forwarder.Delivery
  private let bodies: BodyReading?
  private let mayWrite: @Sendable () -> Bool
  /// How many bodies were read that are no files on this machine.
  private var remoteCount = 0

  private var running: [Serial: Transfer] = [:]
  private var idle: [ObjectIdentifier: [Transfer]] = [:]
  private var headers = OutgoingHeaders()
  private var batch = AttemptBatch()
  private var signing = SigningQueue()
  private var tokens = TokenDesk()
  private var proxiedServers: ProxiedServers
  /// Upstreams to which the last connection could not be made.
  private var unconnected: Set<ObjectIdentifier> = []
  /// Whether attempts were begun since libcurl last worked.
  private var hasBegun = false
  /// The time of the next check for silent transfers.
  private var silenceWatch = SilenceWatch()
  private var spinGuard = SpinGuard()

  init(
    shared: ForwarderShared, targets: [UpstreamTarget], limits: ForwarderLimits,
    bodies: BodyReading?, mayWrite: @escaping @Sendable () -> Bool,
    deliver: @escaping Forwarder.Delivery
  ) {
    self.shared = shared
    self.bodies = bodies
    self.mayWrite = mayWrite
    proxiedServers = ProxiedServers(targets)
    self.limits = limits
    self.deliver = deliver
  }

  /// Runs until the inbox says to stop.
  func run() {
    // OpenSSL writes without MSG_NOSIGNAL, so a TLS connection that its peer has closed raises
    // SIGPIPE, which would end the process.
    Signals.block([SIGPIPE])
    while takeInbox() {
      report()
      // New requests are sent before anything is waited for; the same pass over all transfers
      // handles input that came meanwhile.
      sign()
      let mayWait = !hasBegun && signing.isIdle && batch.isEmpty
      let waitedNs = mayWait ? wait() : 0
      shared.multi.perform()
      collect()
      endSilentOnes()
      pauseIfSpinning(waitedNs: waitedNs, hasChanged: !mayWait || !batch.isEmpty)
      report()
    }
    report()
    // Easy handles are freed before the multi handle: curl_multi_cleanup(3).
    idle = [:]
  }

  /// Waits until there is something to do; returns for how many nanoseconds it waited.
  private func wait() -> Int64 {
    let startedAt = MonotonicClock.now()
    shared.waitUnlessCalled(milliseconds: silenceWatch.waitMs)
    return MonotonicClock.now().nanoseconds - startedAt.nanoseconds
  }

  private func pauseIfSpinning(waitedNs: Int64, hasChanged: Bool) {
    guard spinGuard.turnEnds(waitedNs: waitedNs, hasChanged: hasChanged) else { return }
    let movedBytes = running.values.reduce(0) { $0 + $1.movedBytes }
    let isUploadHeld = running.values.contains { $0.holdsUpload }
    guard spinGuard.mustPause(movedBytes: movedBytes, isUploadHeld: isUploadHeld) else { return }
    shared.pauseUnlessCalled(milliseconds: SpinGuard.pauseMs)
  }

  /// Carries out the requests of other threads; false if the thread is to end.
  private func takeInbox() -> Bool {
    let inbox = shared.takeInbox()
    batch.withdrawn.append(contentsOf: inbox.withdrawn)
    cancel(inbox.cancellation)
    if let targets = inbox.targets { configure(targets) }
    for target in inbox.renewals { tokens.askAnew(for: target) }
    for arrival in inbox.arrivals { take(arrival) }
    hasBegun = !inbox.requests.isEmpty
    begin(inbox.requests)
    for question in inbox.questions { answer(question) }
    return !inbox.isStopping
  }

  /// Frees what was kept for replaced upstreams.
  private func configure(_ targets: [UpstreamTarget]) {
    shared.multi.keep(idleConnectionsMax: limits.idleConnections(to: targets))
    proxiedServers.add(targets)
    for (key, transfers) in idle where transfers.first?.target.isRetired ?? true {
      idle[key] = nil
      unconnected.remove(key)
    }
    tokens.forgetRetired()
    endRetiredConnections()
  }

  /// Ends the connections of replaced upstreams, once nothing is under way on them.
  private func endRetiredConnections() {
    shared.multi.connections.endRetired(
      except: Set(running.values.compactMap { $0.requestStart?.localPort }))
  }

  private func answer(_ question: ProgressQuery) {
    guard let serials = question.serials else {
      return question.answer(
        running.values.filter { !TokenDesk.isFetch($0.serial) }.map(\.progress))
    }
    question.answer(serials.compactMap { running[$0]?.progress })
  }

  private func cancel(_ cancellation: ForwarderInbox.Cancellation) {
    switch cancellation {
    case .none: return
    case .some(let serials):
      batch.withdrawn += signing.remove { serials.contains($0) }
      batch.withdrawn += tokens.remove { serials.contains($0) }
      for serial in serials { breakOff(serial) }
    case .all:
      batch.withdrawn += signing.remove { _ in true }
      batch.withdrawn += tokens.remove { _ in true }
      for serial in running.keys.sorted() { breakOff(serial) }
    }
  }

  private func breakOff(_ serial: Serial) {
    guard let transfer = running[serial] else { return }
    end(transfer, as: .brokenOff, detail: ConnectionFailure.brokenOff.sentence)
  }

  /// Ends a transfer, at whatever stage it is.
  private func end(_ transfer: Transfer, as failure: ConnectionFailure, detail: String) {
    let now = Now(wall: WallClock.now(), monotonic: MonotonicClock.now())
    let report = transfer.breakOff(as: failure, detail: detail, at: now)
    shared.multi.remove(transfer.handle)
    running[transfer.serial] = nil
    if failure == .timeout { transfer.leaveConnectionIfDead(at: now) }
    keep(transfer)
    conclude(report, of: nil, at: now)
  }

  /// Ends attempts in which no byte has moved for too long.
  private func endSilentOnes() {
    guard silenceWatch.isSet else { return }
    let now = MonotonicClock.now()
    guard silenceWatch.isDue(at: now) else { return }
    silenceWatch = SilenceWatch()
    var silent: [Transfer] = []
    for transfer in running.values {
      guard let idleTimeoutMs = transfer.target.idleTimeoutMs else { continue }
      if transfer.silenceMs(at: now) >= Int64(idleTimeoutMs) {
        silent.append(transfer)
      } else {
        silenceWatch.watch(idleTimeoutMs: idleTimeoutMs, at: now)
      }
    }
    for transfer in silent { end(transfer, as: .timeout, detail: transfer.silenceDetail) }
  }

  private func begin(_ requests: [AttemptRequest]) {
    guard !requests.isEmpty else { return }
    let now = Now(wall: WallClock.now(), monotonic: MonotonicClock.now())
    for request in requests { begin(request, at: now) }
  }

  private func begin(_ request: AttemptRequest, at now: Now) {
    precondition(
      running[request.serial] == nil && !signing.contains(request.serial)
        && !tokens.contains(request.serial),
      "an envelope has one attempt at a time")
    if let fault = RequestLineCheck.fault(in: request.content) {
      // It could not be sent at another time either.
      return end(request, as: .unsendable(reason: fault), at: now)
    }
    guard let source = request.target.tokens else { return start(request, at: now) }
    take(tokens.admit(request, source, at: now), at: now)
  }

  /// Carries out what follows for attempts from a token that was fetched, or not.
  private func take(_ steps: [TokenDesk.Step], at now: Now) {
    for step in steps {
      switch step {
      case .send(let request):
        start(request, at: now)
        hasBegun = true
      case .end(let request, let event): end(request, as: event, at: now)
      }
    }
  }

  private func start(_ request: AttemptRequest, at now: Now) {
    do throws(SystemError) {
      let body = try body(of: request)
      guard let signing = BodySigning(request, at: Self.signingTime(now)) else {
        return try send(request, SignedBody(body: body), at: now)
      }
      try sign(request, body, signing, at: now)
    } catch {
      fail(request, error, at: now)
    }
  }

  private func body(of request: AttemptRequest) throws(SystemError) -> OutgoingBody {
    guard let bodies else { return try OutgoingBody(request.content.body) }
    let serial = request.serial
    return try OutgoingBody(request.content.body) { [shared] file in
      self.remoteCount += 1
      return RemoteBody(byteCount: file.byteCount, number: self.remoteCount) { part, number in
        bodies(file, part.lowerBound, part.count) { [weak shared] result in
          shared?.post {
            $0.arrive(BodyArrival(serial: serial, body: number, result: result))
          }
        }
      }
    }
  }

  /// Goes on with what has waited for a part of its body.
  private func take(_ arrival: BodyArrival) {
    if let transfer = running[arrival.serial] {
      transfer.take(arrival)
    } else {
      signing.take(arrival)
    }
  }

  /// The machine's own time, if it can be right: the upstream compares it with its clock, and
  /// nothing of the relay ends by it.
  static func signingTime(_ now: Now) -> WallTime {
    let machine = WallClock.machine()
    return machine.isPlausible ? machine : now.wall
  }

  /// Signs a request at once, or queues it if signing would take a while.
  private func sign(
    _ request: AttemptRequest, _ body: consuming OutgoingBody, _ signing: consuming BodySigning,
    at now: Now
  ) throws(SystemError) {
    guard case .inline(let bytes) = request.content.body else {
      return self.signing.append(request, body, signing, at: now)
    }
    bytes.withUnsafeBytes { signing.update($0) }
    try send(request, SignedBody(body: body, signatures: signing.finish()), at: now)
  }

  /// Continues signing; a request that is complete is sent.
  private func sign() {
    guard let entry = signing.advance() else { return }
    let now = Now(wall: WallClock.now(), monotonic: MonotonicClock.now())
    let failure = entry.failure
    guard let signed = entry.finish() else {
      let reason = failure ?? "a part of it is missing"
      return fail(entry.request, "could not read a stored body: \(reason)", at: now)
    }
    do throws(SystemError) {
      try send(entry.request, signed, at: entry.startedAt)
      hasBegun = true
    } catch {
      fail(entry.request, error, at: now)
    }
  }

  private func send(
    _ request: AttemptRequest, _ signed: consuming SignedBody, at now: Now
  ) throws(SystemError) {
    let transfer = try handle(for: request.target)
    transfer.prepare(
      request, signed, at: now,
      looksUpAnew: unconnected.contains(ObjectIdentifier(request.target)),
      isProxied: proxiedServers.contains(request.target), headers: &headers)
    guard shared.multi.add(transfer.handle) else {
      transfer.release()
      throw SystemError(code: ENOMEM, operation: "begin a transfer")
    }
    running[request.serial] = transfer
    if let idleTimeoutMs = request.target.idleTimeoutMs {
      silenceWatch.watch(idleTimeoutMs: idleTimeoutMs, at: now.monotonic)
    }
  }

  private func handle(for target: UpstreamTarget) throws(SystemError) -> Transfer {
    if let transfer = idle[ObjectIdentifier(target)]?.popLast() { return transfer }
    return try Transfer(
      target: target, limits: limits, connections: shared.multi.connections, mayWrite: mayWrite)
  }

  private func fail(_ request: AttemptRequest, _ error: SystemError, at now: Now) {
    fail(request, "could not \(error.operation): \(error.reason)", at: now)
  }

  private func fail(_ request: AttemptRequest, _ detail: String, at now: Now) {
    end(request, as: .failed(.local, detail: detail), at: now)
  }

  /// Ends an attempt that has not begun.
  private func end(_ request: AttemptRequest, as event: AttemptEvent, at now: Now) {
    let beganAt = request.beganAt ?? now
    let report = AttemptReport(
      serial: request.serial, event: event, startedAt: beganAt.wall,
      durationMs: now.monotonic.milliseconds(since: beganAt.monotonic))
    conclude(report, of: nil, at: now)
  }

  /// Reports the end of an attempt, unless it goes on with another token, or was itself a request
  /// for one.
  ///
  /// - Parameter request: The request, if it carried a token and was answered.
  private func conclude(_ report: AttemptReport, of request: AttemptRequest?, at now: Now) {
    if let steps = tokens.ended(report, at: now) { return take(steps, at: now) }
    var report = report
    if let request {
      switch tokens.judge(request, report, at: now) {
      case .stands: break
      case .unclear: report.isUnclear = true
      case .goesOn(let steps): return take(steps, at: now)
      }
      if case .answered(let response) = report.event, let token = request.accessToken,
        response.headers.first("Content-Encoding") != nil
      {
        batch.masks[report.serial] = token.mask
      }
    }
    batch.reports.append(report)
  }

  private func collect() {
    var now: Now?
    while let (transfer, code) = shared.multi.nextEnded(Transfer.self) {
      let time = now ?? Now(wall: WallClock.now(), monotonic: MonotonicClock.now())
      now = time
      shared.multi.remove(transfer.handle)
      if transfer.wantsNewConnection(code) {
        beginAnew(transfer, at: time)
        continue
      }
      running[transfer.serial] = nil
      let request = transfer.target.tokens == nil ? nil : transfer.request
      let report = transfer.finish(code, at: time)
      if case .failed(.timeout, _) = report.event { transfer.leaveConnectionIfDead(at: time) }
      noteConnection(to: transfer.target, report.event)
      keep(transfer)
      conclude(report, of: request, at: time)
    }
  }

  /// Begins an attempt again, of which nothing was written, on a new connection.
  private func beginAnew(_ transfer: Transfer, at now: Now) {
    transfer.prepareNewConnection(at: now)
    // libcurl's own timer ends the next wait at once.
    if shared.multi.add(transfer.handle) { return }
    running[transfer.serial] = nil
    let detail = "could not begin a transfer: out of memory"
    conclude(transfer.breakOff(as: .local, detail: detail, at: now), of: nil, at: now)
  }

  private func noteConnection(to target: UpstreamTarget, _ event: AttemptEvent) {
    switch event {
    case .failed(.connect, _), .failed(.tls, _), .failed(.timeout, _):
      unconnected.insert(ObjectIdentifier(target))
    case .answered where !unconnected.isEmpty: unconnected.remove(ObjectIdentifier(target))
    default: break
    }
  }

  /// Keeps a handle for the next attempt at its upstream.
  private func keep(_ transfer: Transfer) {
    let key = ObjectIdentifier(transfer.target)
    guard !transfer.target.isRetired else {
      unconnected.remove(key)
      return endRetiredConnections()
    }
    guard idle[key, default: []].count < transfer.target.maxConcurrent else { return }
    idle[key, default: []].append(transfer)
  }

  private func report() {
    guard !batch.isEmpty else { return }
    let ended = batch
    batch = AttemptBatch()
    deliver(ended)
  }
}

import CCurl
import EventLoop
import Glibc
import RelayCore

/// What the forwarder's thread does: take what came in, let libcurl work, tell what ended, sleep.
final class ForwarderLoop {
  private let shared: ForwarderShared
  private let limits: ForwarderLimits
  private let deliver: Forwarder.Delivery

  private var running: [Serial: Transfer] = [:]
  private var idle: [ObjectIdentifier: [Transfer]] = [:]
  private var headers = OutgoingHeaders()
  private var batch = AttemptBatch()
  /// Whether attempts were begun since libcurl last looked at them.
  private var hasBegun = false
  /// When transfers are looked at next that may have fallen silent.
  private var silenceWatch = SilenceWatch()

  init(
    shared: ForwarderShared, limits: ForwarderLimits, deliver: @escaping Forwarder.Delivery
  ) {
    self.shared = shared
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
      // What has just begun is sent before anything is waited for; the same look at all transfers
      // serves what has come meanwhile.
      if !hasBegun { shared.waitUnlessCalled(milliseconds: silenceWatch.waitMs) }
      shared.multi.perform()
      collect()
      endSilentOnes()
      report()
    }
    report()
    // Handles go before the multi handle: curl_multi_cleanup(3).
    idle = [:]
  }

  /// Does what other threads want; false if that is to end.
  private func takeInbox() -> Bool {
    let inbox = shared.takeInbox()
    batch.withdrawn.append(contentsOf: inbox.withdrawn)
    cancel(inbox.cancellation)
    begin(inbox.requests)
    for question in inbox.questions { answer(question) }
    hasBegun = !inbox.requests.isEmpty
    return !inbox.isStopping
  }

  private func answer(_ question: ProgressQuestion) {
    guard let serials = question.serials else {
      return question.answer(running.values.map(\.progress))
    }
    question.answer(serials.compactMap { running[$0]?.progress })
  }

  private func cancel(_ cancellation: ForwarderInbox.Cancellation) {
    switch cancellation {
    case .none: return
    case .some(let serials): for serial in serials { breakOff(serial) }
    case .all: for serial in running.keys.sorted() { breakOff(serial) }
    }
  }

  private func breakOff(_ serial: Serial) {
    guard let transfer = running[serial] else { return }
    end(transfer, as: .brokenOff, detail: ConnectionFailure.brokenOff.sentence)
  }

  /// Ends a transfer from here, at whatever point it is.
  private func end(_ transfer: Transfer, as failure: ConnectionFailure, detail: String) {
    let now = Now(wall: WallClock.now(), monotonic: MonotonicClock.now())
    batch.reports.append(transfer.breakOff(as: failure, detail: detail, at: now))
    shared.multi.remove(transfer.handle)
    running[transfer.serial] = nil
    keep(transfer)
  }

  /// Ends attempts of which no byte has moved for too long.
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
    precondition(running[request.serial] == nil, "an envelope has one attempt at a time")
    if let fault = RequestLine.fault(in: request.content) {
      return fail(request, fault, at: now)
    }
    do throws(SystemError) {
      let transfer = try handle(for: request.target)
      do throws(SystemError) {
        try transfer.prepare(request, at: now, headers: &headers)
      } catch {
        keep(transfer)
        throw error
      }
      guard shared.multi.add(transfer.handle) else {
        transfer.release()
        return fail(request, "libcurl could not begin the transfer", at: now)
      }
      running[request.serial] = transfer
      if let idleTimeoutMs = request.target.idleTimeoutMs {
        silenceWatch.watch(idleTimeoutMs: idleTimeoutMs, at: now.monotonic)
      }
    } catch {
      fail(request, "could not \(error.operation): \(error.reason)", at: now)
    }
  }

  private func handle(for target: UpstreamTarget) throws(SystemError) -> Transfer {
    if let transfer = idle[ObjectIdentifier(target)]?.popLast() { return transfer }
    return try Transfer(target: target, limits: limits)
  }

  private func fail(_ request: AttemptRequest, _ detail: String, at now: Now) {
    batch.reports.append(
      AttemptReport(
        serial: request.serial, event: .failed(.local, detail: detail), startedAt: now.wall,
        durationMs: 0))
  }

  private func collect() {
    var now: Now?
    while let (transfer, code) = shared.multi.nextEnded() {
      let time = now ?? Now(wall: WallClock.now(), monotonic: MonotonicClock.now())
      now = time
      shared.multi.remove(transfer.handle)
      running[transfer.serial] = nil
      batch.reports.append(transfer.finish(code, at: time))
      keep(transfer)
    }
  }

  /// Keeps a handle for the next attempt at its upstream.
  private func keep(_ transfer: Transfer) {
    let key = ObjectIdentifier(transfer.target)
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

import EventLoop
import Forwarder
import RelayCore

// The end of a relay, and the handover of its store to another one.
extension Relay {
  /// How long before the end of the grace period the last posts are answered, those too that wait
  /// for a store that cannot be reached: then they still get the answer.
  private static let partingMs: Int64 = 1000

  /// Takes nothing new, lets what is under way finish, puts the rest back as it was, and closes the
  /// store.
  ///
  /// If another relay is there to go on, it gets what still comes in.
  ///
  /// - Parameter graceSeconds: How long attempts and answers may take to finish.
  package func drain(graceSeconds: Int) async {
    let dispatcher = parts.dispatcher
    let graceMs = Int64(graceSeconds) * 1000
    let deadline = MonotonicClock.now().adding(milliseconds: graceMs)
    dispatcher.tracer.hurry()
    let untilPartingMs = graceMs - min(Self.partingMs, graceMs / 4)
    let giveUp = dispatcher.loop.schedule(afterMs: untilPartingMs) { self.giveUpStore() }
    let begin = await prepareHandover(graceMs: untilPartingMs)
    parts.beginDraining()
    janitor.stop()
    dispatcher.needs.stop()
    log.info("draining", ("graceSeconds", .integer(Int64(graceSeconds))))
    let restMs = max(0, deadline.milliseconds(since: MonotonicClock.now()))
    async let attempts: Void = dispatcher.drain(graceMs: restMs)
    if begin == nil { await parts.front.drain(until: deadline) }
    await attempts
    forwarder.shutdown()
    await dispatcher.history.stop()
    await dispatcher.stories.settled()
    await opened.store.close()
    _ = giveUp.cancel()
    if let begin {
      // Where nobody waits for an answer, nobody waits for the next relay either.
      Task(executorPreference: dispatcher.loop) { await self.handOver(begunAt: begin) }
      dispatcher.loop.schedule(at: deadline) { [front] in front.passing?.breakOff() }
      await parts.front.drain(until: deadline)
    }
    front.retire()
    await dispatcher.tracer.stop(until: deadline)
    clockWatch.stop()
    log.tellRest()
    log.info("stopped")
  }

  private func giveUpStore() {
    guard let trouble = opened.store.giveUpWaiting() else { return }
    log.warning(
      "the store cannot be reached, and is waited for no longer: the relay ends without it",
      ("error", .text(trouble)))
  }

  // MARK: - Handover

  /// Finishes the attempts while posts are still taken, if another relay is there to go on; what
  /// comes in then waits for it.
  ///
  /// Nobody else may have the store before the attempts have ended, or they would be doubled. A
  /// slow upstream, or a slow sender, would keep all relays from taking anything for that long.
  ///
  /// - Returns: When requests began to wait; nil if none does.
  private func prepareHandover(graceMs: Int64) async -> MonotonicTime? {
    // Without a listener for relays it passes nothing on, but spares are quicker all the same.
    guard let shared = opened.shared, front.passing != nil || spareCount > 0,
      opened.store.statistics().trouble == nil
    else { return nil }
    let deadline = MonotonicClock.now().adding(milliseconds: graceMs)
    await parts.dispatcher.loop.sleep(
      until: min(deadline, MonotonicClock.now().adding(milliseconds: shared.announceHandover())))
    func restMs() -> Int64 { max(0, deadline.milliseconds(since: MonotonicClock.now())) }
    // One that has just begun to wait is known by now.
    guard spareCount > 0 else { return nil }
    log.info(
      "handing over: posts are taken until the attempts under way have ended",
      ("spares", .integer(Int64(spareCount))))
    await front.finishEarlier(graceMs: restMs())
    await parts.dispatcher.finishAttempts(graceMs: restMs())
    guard front.passing != nil else { return nil }
    let begin = MonotonicClock.now()
    parts.dispatcher.sendAway()
    await front.giveUp()
    return begin
  }

  /// The number of relays that wait for the store, and listen.
  private var spareCount: Int {
    opened.store.statistics().relays.count { !$0.hasStore && $0.address != nil }
  }

  /// Has the relay that has taken the store answer what waits.
  private func handOver(begunAt begin: MonotonicTime) async {
    let successor = await opened.shared?.successor()
    front.follow(successor)
    guard let successor else {
      log.warning("the store was given up, and no other relay has taken it yet")
      return
    }
    log.info(
      "another relay has taken the store", ("at", .text(successor.address ?? "no address")),
      ("durationMs", .integer(MonotonicClock.now().milliseconds(since: begin))))
  }
}

@testable import RelayCore
import Testing

@Suite("A run of what waits of a client")
struct ClientRunTests {
  private let lane1 = LaneNumber(rawValue: 1)

  /// An entry of the one client that these tests have.
  private func entry(
    _ relay: inout ManualRelay, lane: Int64 = 1, upstream: UpstreamNumber = ManualRelay.upstream,
    standing: Standing = .queued, onFailure: FailurePolicy = .skip, dueInMs: Int64? = nil
  ) -> LineEntry {
    relay.makeEntry(
      lane: lane, client: 1, upstream: upstream, standing: standing, onFailure: onFailure,
      dueInMs: dueInMs)
  }

  private func accept(_ relay: inout ManualRelay, lane: Int64 = 1, held: Bool = false) {
    relay.accept(entry(&relay, lane: lane, standing: held ? .held : .queued))
  }

  // MARK: - What is delivered

  @Test("all that is delivered is told, and the run is complete once the last one is durable")
  func delivered() throws {
    var relay = ManualRelay()
    for lane in [1, 1, 2] { accept(&relay, lane: Int64(lane)) }
    relay.run()
    #expect(relay.report()?.pendingCount == 3)
    relay.deliverAll()
    let run = try #require(relay.report())
    #expect(run.isComplete && run.summary == .delivered && run.firstFailure == nil)
    #expect(relay.verdicts() == [1: .delivered, 2: .delivered, 3: .delivered])
    #expect(relay.runs.takeSettled() == [1])
  }

  @Test("a run of nothing is complete at once, and says so")
  func nothing() {
    var relay = ManualRelay()
    relay.run()
    #expect(relay.report()?.isComplete == true)
    #expect(relay.report()?.summary == .nothing)
  }

  @Test("what is not delivered yet is pending, and the summary is of what is decided")
  func pending() {
    var relay = ManualRelay()
    for _ in 0..<2 { accept(&relay) }
    relay.run()
    relay.answer(1)
    #expect(relay.verdicts() == [1: .pending, 2: .pending])
    relay.commit()
    #expect(relay.verdicts() == [1: .delivered, 2: .pending])
    #expect(relay.report()?.isComplete == false)
    #expect(relay.report()?.summary == .delivered)
  }

  // MARK: - What is held, or waits

  @Test("a run by lane leaves a held one, and those behind it; other lanes go on")
  func held() {
    var relay = ManualRelay()
    accept(&relay)
    accept(&relay, held: true)
    accept(&relay)
    accept(&relay, lane: 2)
    relay.run()
    relay.deliverAll()
    #expect(
      relay.verdicts() == [
        1: .delivered, 2: .skipped(.held), 3: .skipped(.behind), 4: .delivered,
      ])
    #expect(relay.attempted == [1, 4])
  }

  @Test("held ones that are named are run when their turn comes, in order")
  func named() {
    var relay = ManualRelay()
    accept(&relay, held: true)
    accept(&relay)
    accept(&relay, held: true)
    relay.accept(entry(&relay, dueInMs: 1_000_000))
    relay.run(.ids([]))
    #expect(relay.uncommitted.map(\.serial) == [1])
    relay.deliverAll()
    #expect(relay.attempted == [1, 2, 3, 4])
    #expect(relay.report()?.isComplete == true && relay.report()?.summary == .delivered)
  }

  @Test("a held one that is named, behind one that is not and is held too, is behind")
  func namedBehindHeld() {
    var relay = ManualRelay()
    accept(&relay, held: true)
    accept(&relay, held: true)
    relay.run(.ids([])) { $0.serial == 2 }
    #expect(relay.verdicts() == [2: .skipped(.behind)])
    #expect(relay.uncommitted.isEmpty)
  }

  @Test("a wait after a failure is cut short; a wait that its sender asked for is not")
  func waits() {
    var relay = ManualRelay()
    accept(&relay)
    relay.answer(1, status: 500, retryAfter: "50")
    relay.commit()
    relay.accept(entry(&relay, lane: 2, dueInMs: 1_000_000))
    accept(&relay, lane: 2)
    relay.run(wishes: [2])
    #expect(
      relay.verdicts() == [1: .pending, 2: .skipped(.notBefore), 3: .skipped(.behind)])
    relay.deliverAll()
    #expect(relay.attempted == [1, 1])
    #expect(relay.verdicts()[1] == .delivered)
  }

  @Test("what is not named moves at its own pace, and what stands behind it waits for that")
  func behindOthers() {
    var relay = ManualRelay()
    accept(&relay)
    accept(&relay)
    relay.run { $0.serial == 2 }
    #expect(relay.verdicts() == [2: .pending])
    relay.answer(1, status: 503)
    relay.commit()
    #expect(relay.verdicts() == [2: .skipped(.behind)])
    relay.run(.tag("t")) { $0.serial == 2 }
    #expect(relay.verdicts(2) == [2: .skipped(.behind)])
  }

  // MARK: - What fails

  @Test("an attempt without success fails its envelope, and those behind it are behind")
  func attemptFails() throws {
    var relay = ManualRelay()
    accept(&relay)
    accept(&relay)
    relay.run()
    relay.answer(1, status: 503)
    relay.commit()
    let run = try #require(relay.report())
    #expect(
      relay.verdicts() == [
        1: .failed(.queued, "the upstream answered 503"), 2: .skipped(.behind),
      ])
    #expect(run.isComplete && run.summary == .failed && run.firstFailure == 0)
  }

  @Test(
    "one that is refused fails, and its lane goes on or stands, as it says",
    arguments: [
      FailurePolicy.skip, .block,
    ])
  func refused(_ onFailure: FailurePolicy) {
    var relay = ManualRelay()
    relay.accept(entry(&relay, onFailure: onFailure))
    accept(&relay)
    relay.run()
    relay.answer(1, status: 422)
    relay.deliverAll()
    let isSkipped = onFailure == .skip
    #expect(
      relay.verdicts() == [
        1: .failed(isSkipped ? .failed : .blocked, "the upstream answered 422"),
        2: isSkipped ? .delivered : .skipped(.behind),
      ])
    #expect(relay.report()?.summary == (isSkipped ? .partly : .failed))
  }

  @Test("a lane that stood blocked before is told for each of its envelopes")
  func blockedBefore() {
    var relay = ManualRelay()
    relay.accept(entry(&relay, onFailure: .block))
    accept(&relay)
    relay.answer(1, status: 422)
    relay.commit()
    relay.run()
    #expect(relay.verdicts() == [1: .skipped(.laneBlocked), 2: .skipped(.laneBlocked)])
    #expect(relay.report()?.summary == .nothing)
  }

  @Test("one that is taken back, or expires, while the run is under way is told as such")
  func endedMeanwhile() {
    var relay = ManualRelay()
    accept(&relay)
    accept(&relay)
    relay.accept(relay.makeEntry(lane: 1, client: 1, expiresInMs: 5))
    relay.run()
    _ = relay.scheduler.obey(.cancel(reason: "r"), of: relay.line[1], now: relay.clock)
    relay.take()
    relay.pass(ms: 10)
    relay.expire(3)
    relay.commit()
    #expect(relay.verdicts()[2] == .skipped(.cancelled))
    #expect(relay.verdicts()[3] == .failed(.expired, Scheduler.expiredReason))
    #expect(relay.verdicts()[1] == .pending)
  }

  // MARK: - Pauses

  @Test(
    "what is paused is told, also when the pause comes in the middle",
    arguments: [
      PauseTarget.lane(LaneNumber(rawValue: 1)), .client(ClientNumber(rawValue: 1)),
      .upstream(ManualRelay.upstream),
    ])
  func paused(_ target: PauseTarget) {
    var relay = ManualRelay()
    for _ in 0..<3 { accept(&relay) }
    relay.run()
    relay.setPaused(true, target)
    #expect(relay.verdicts()[1] == .pending)
    relay.deliverAll()
    #expect(
      relay.verdicts() == [1: .delivered, 2: .skipped(.paused), 3: .skipped(.paused)])
    relay.run(.tag("t"))
    #expect(relay.verdicts(2) == [2: .skipped(.paused), 3: .skipped(.paused)])
  }

  @Test("a held one of a paused lane is left as it is, though it is named")
  func pausedHeld() {
    var relay = ManualRelay()
    accept(&relay, held: true)
    relay.setPaused(true, .lane(lane1))
    relay.run(.ids([]))
    #expect(relay.verdicts() == [1: .skipped(.paused)])
    #expect(relay.uncommitted.isEmpty)
  }

  // MARK: - Unreachable upstreams

  /// An upstream that is given up, with a lane of the client's and two of others' that wait for it.
  private func outage() -> ManualRelay {
    var relay = ManualRelay()
    for lane in 2...4 { relay.accept(lane: Int64(lane)) }
    for serial in 1...3 { relay.fail(Serial(serial)) }
    relay.commit()
    accept(&relay)
    accept(&relay, lane: 5)
    #expect(relay.inFlight.isEmpty)
    return relay
  }

  @Test("a run waits for one probe; if that fails, its lanes are passed over as unreachable")
  func unreachable() {
    var relay = outage()
    relay.run { $0.client == ClientNumber(rawValue: 1) }
    #expect(relay.verdicts() == [4: .pending, 5: .pending])
    relay.pass(ms: 1000)
    #expect(relay.inFlight.map(\.serial).count == 1)
    let probe = relay.inFlight[0].serial
    relay.fail(probe)
    relay.commit()
    #expect(relay.report()?.isComplete == true)
    let other: Serial = probe == 4 ? 5 : 4
    #expect(relay.verdicts()[other] == .skipped(.upstreamUnreachable))
  }

  @Test("a run goes on if the probe finds that the upstream is back")
  func backAgain() {
    var relay = outage()
    relay.run { $0.client == ClientNumber(rawValue: 1) }
    relay.pass(ms: 1000)
    relay.deliverAll()
    #expect(relay.verdicts() == [4: .delivered, 5: .delivered])
  }

  @Test("an upstream that is given up while the run is under way is not waited for")
  func givenUpMeanwhile() {
    var relay = ManualRelay()
    for lane in 1...8 { accept(&relay, lane: Int64(lane)) }
    relay.run()
    for serial in 1...3 { relay.fail(Serial(serial)) }
    #expect(relay.inFlight.map(\.serial) == [4, 5, 6])
    #expect(relay.verdicts()[7] == .skipped(.upstreamUnreachable))
    for serial in 4...6 { relay.fail(Serial(serial)) }
    relay.commit()
    #expect(relay.report()?.isComplete == true && relay.report()?.summary == .failed)
  }

  @Test("an upstream that is not configured cannot be reached")
  func unconfigured() {
    var relay = ManualRelay()
    relay.accept(entry(&relay, upstream: UpstreamNumber(rawValue: 9)))
    relay.run()
    #expect(relay.verdicts() == [1: .skipped(.upstreamUnreachable)])
  }

  @Test("a lane that is being read from disk is waited for")
  func starved() {
    var relay = ManualRelay(limits: Scheduler.Limits(windowEntriesMax: 1, laneWindowMin: 1))
    for _ in 0..<5 { accept(&relay) }
    relay.run()
    relay.deliverAll()
    #expect(relay.report()?.isComplete == true)
    #expect(relay.attempted == [1, 2, 3, 4, 5])
  }
}

@testable import RelayCore
import Testing

@Suite("What may have arrived")
struct SchedulerDoubtTests {
  private func relay(_ ambiguity: AmbiguityPolicy) -> ManualRelay {
    ManualRelay(policy: .manual.ambiguity(ambiguity))
  }

  /// A relay whose one envelope was sent and not answered.
  private func relayInDoubt(_ ambiguity: AmbiguityPolicy = .verify) -> ManualRelay {
    var relay = relay(ambiguity)
    relay.accept(lane: 1)
    relay.commit()
    relay.fail(1, .timeout, isWritten: true)
    return relay
  }

  @Test("an attempt begins once that is durable, where nothing may arrive twice")
  func announced() {
    for ambiguity in [AmbiguityPolicy.verify, .block] {
      var relay = relay(ambiguity)
      relay.accept(count: 2, lane: 1)
      #expect(relay.attempted.isEmpty && relay.uncommitted.map(\.change) == [.begin])
      #expect(relay.scheduler.isInFlight(1))
      relay.commit()
      #expect(relay.attempted == [1] && relay.line[0].isInDoubt)
      relay.deliverAll()
      #expect(relay.attempted == [1, 2] && relay.line.isEmpty)
    }
  }

  @Test("elsewhere an attempt begins at once, and is told as ambiguous if it was written whole")
  func retried() throws {
    var relay = relay(.retry)
    relay.accept(lane: 1)
    #expect(relay.attempted == [1] && relay.uncommitted.isEmpty)
    relay.fail(1, .timeout, isWritten: true)
    let change = try #require(relay.uncommitted.first)
    #expect(change.attempt?.outcome == .ambiguous && change.doubt == nil)
    relay.commit()
    relay.pass(ms: 8000)
    #expect(relay.attempted == [1, 1] && relay.verified.isEmpty)
    relay.fail(1, .timeout, isWritten: false)
    #expect(relay.uncommitted.first?.attempt?.outcome == .unreachable)
  }

  @Test("the upstream is asked before an envelope in doubt is sent again")
  func verifiedFirst() throws {
    var relay = relayInDoubt()
    let change = try #require(relay.uncommitted.first)
    #expect(change.attempt?.outcome == .ambiguous && change.attempt?.number == 1)
    #expect(change.doubt == "the upstream took too long, and it may have arrived")
    relay.commit()
    #expect(relay.line[0].isInDoubt && relay.verified.isEmpty)
    relay.pass(ms: 8000)
    #expect(relay.verified == [1] && relay.attempted == [1])
  }

  @Test("what has arrived is delivered, with what the upstream said, and is no further attempt")
  func arrived() throws {
    var relay = relayInDoubt()
    relay.commit()
    relay.pass(ms: 8000)
    relay.answer(1, status: 200)
    let change = try #require(relay.uncommitted.first)
    #expect(
      change.change
        == .end(
          .delivered, reason: "asked for it, the upstream answered 200: it had arrived"))
    #expect(change.attempt == nil && change.response?.status == 200)
    relay.commit()
    #expect(relay.line.isEmpty && relay.attempted == [1])
  }

  @Test("what has not arrived is sent again at once", arguments: [404, 410])
  func notArrived(status: Int) {
    var relay = relayInDoubt()
    relay.commit()
    relay.pass(ms: 8000)
    relay.answer(1, status: status)
    relay.commit()
    #expect(relay.uncommitted.map(\.change) == [.begin])
    relay.commit()
    #expect(relay.attempted == [1, 1] && relay.verified == [1])
  }

  @Test("an answer that says neither is asked for again later", arguments: [301, 401, 429, 500])
  func unknown(status: Int) throws {
    var relay = relayInDoubt()
    relay.commit()
    relay.pass(ms: 8000)
    relay.answer(1, status: status, retryAfter: "30")
    let change = try #require(relay.uncommitted.first)
    #expect(change.attempt == nil && change.doubt?.contains("\(status)") == true)
    relay.commit()
    relay.pass(ms: 29_000)
    #expect(relay.verified == [1])
    relay.pass(ms: 2000)
    #expect(relay.verified == [1, 1] && relay.attempted == [1])
  }

  @Test("a verification takes a slot, and its failure counts for the upstream's reachability")
  func countsAsAttempt() throws {
    var relay = ManualRelay(policy: .manual.ambiguity(.verify).concurrency(1))
    relay.accept(lane: 1)
    relay.commit()
    relay.fail(1, .timeout, isWritten: true)
    relay.commit()
    relay.pass(ms: 8000)
    relay.accept(lane: 2)
    relay.commit()
    #expect(relay.verified == [1] && relay.attempted == [1])
    relay.fail(1)
    relay.commit()
    relay.commit()
    relay.fail(2)
    relay.commit()
    let view = try #require(relay.scheduler.upstreamViews()[ManualRelay.upstream])
    #expect(!view.isReachable)
    relay.pass(ms: 8000)
    #expect(relay.scheduler.inFlightCount == 1)
  }

  @Test("a relay that was killed asks first, whether it was sending, asking or waiting")
  func killed() {
    var sending = relay(.verify)
    sending.accept(lane: 1)
    sending.commit()
    var waiting = relayInDoubt()
    waiting.commit()
    var asking = waiting
    asking.pass(ms: 8000)
    for var relay in [sending, waiting, asking] {
      let asked = relay.verified.count
      relay.restart(policy: .manual.ambiguity(.verify))
      relay.pass(ms: 8000)
      #expect(relay.verified.count == asked + 1 && relay.attempted == [1])
    }
  }

  @Test("a lane that is to block does, whatever the envelope says of failures")
  func blocked() throws {
    var relay = relayInDoubt(.block)
    let change = try #require(relay.uncommitted.first)
    #expect(
      change.change == .block(reason: "the upstream took too long, and it may have arrived"))
    #expect(change.attempt?.outcome == .ambiguous)
    relay.commit()
    #expect(relay.phase(of: 1) == .blocked && !relay.line[0].isInDoubt)
    relay.pass(ms: 60_000)
    #expect(relay.attempted == [1])
    #expect(relay.obey(.retry, of: relay.line[0]) == .recording)
    relay.commit()
    relay.commit()
    #expect(relay.attempted == [1, 1])
  }

  @Test("a lane that is to block does so as well after a kill in the middle of an attempt")
  func blockedAfterKill() throws {
    var relay = relay(.block)
    relay.accept(count: 2, lane: 1)
    relay.commit()
    relay.restart(policy: .manual.ambiguity(.block))
    guard case .block(let reason)? = relay.uncommitted.first?.change else {
      Issue.record("the lane goes on")
      return
    }
    #expect(reason.contains("may have arrived"))
    relay.commit()
    #expect(relay.phase(of: 1) == .blocked && relay.attempted == [1])
  }

  @Test("a refusal, and a failure before the request was whole, leave no doubt")
  func noDoubt() {
    var relay = relay(.verify)
    relay.accept(lane: 1)
    relay.commit()
    relay.fail(1, .cut)
    relay.commit()
    #expect(!relay.line[0].isInDoubt)
    relay.pass(ms: 8000)
    relay.commit()
    relay.answer(1, status: 503)
    relay.commit()
    #expect(!relay.line[0].isInDoubt && relay.verified.isEmpty)
  }

  @Test("an attempt that was announced and never sent leaves no doubt")
  func withdrawn() {
    var relay = relay(.verify)
    relay.accept(lane: 1)
    relay.commit()
    relay.withdraw(1)
    relay.commit()
    #expect(!relay.line[0].isInDoubt && relay.line[0].attempts == 0)
    relay.commit()
    #expect(relay.attempted == [1, 1])
  }

  @Test("a pause that comes between the announcement and the attempt keeps it back")
  func paused() {
    var relay = relay(.verify)
    relay.accept(lane: 1)
    relay.scheduler.setPaused(true, .lane(LaneNumber(rawValue: 1)), now: relay.clock)
    relay.commit()
    relay.commit()
    #expect(relay.attempted.isEmpty && !relay.line[0].isInDoubt)
    #expect(relay.scheduler.inFlightCount == 0)
    relay.scheduler.setPaused(false, .lane(LaneNumber(rawValue: 1)), now: relay.clock)
    relay.take()
    relay.commit()
    #expect(relay.attempted == [1])
  }

  @Test("a relay that ends waits for no announcement beyond its time, and takes it back")
  func cutOff() {
    var relay = relay(.verify)
    relay.accept(lane: 1)
    relay.scheduler.stop()
    #expect(relay.scheduler.inFlightCount == 1)
    relay.scheduler.cutOff(now: relay.clock)
    #expect(relay.scheduler.inFlightCount == 0)
    relay.commit()
    relay.commit()
    #expect(relay.attempted.isEmpty && !relay.line[0].isInDoubt)
  }

  @Test(
    "a relay that ends waits for what has been sent", arguments: [AmbiguityPolicy.retry, .verify])
  func cutOffWaitsForWhatWasSent(ambiguity: AmbiguityPolicy) {
    var relay = relay(ambiguity)
    relay.accept(lane: 1)
    relay.commit()
    #expect(relay.attempted == [1])
    relay.scheduler.stop()
    relay.scheduler.cutOff(now: relay.clock)
    #expect(relay.scheduler.isInFlight(1))
    relay.answer(1)
    relay.commit()
    #expect(relay.line.isEmpty)
  }

  @Test("what a drain breaks off is one more attempt, and no fault of the upstream's")
  func brokenOff() throws {
    var relay = relay(.retry)
    for lane in 1...4 { relay.accept(lane: Int64(lane)) }
    relay.scheduler.stop()
    for serial in 1...4 { relay.fail(Serial(serial), .brokenOff, isWritten: serial % 2 == 0) }
    #expect(
      relay.uncommitted.map(\.attempt?.outcome)
        == [.unreachable, .ambiguous, .unreachable, .ambiguous])
    #expect(relay.uncommitted.allSatisfy { $0.change == .retry(at: relay.clock.wall) })
    relay.commit()
    #expect(relay.line.map(\.attempts) == [1, 1, 1, 1])
    let view = try #require(relay.scheduler.upstreamViews()[ManualRelay.upstream])
    #expect(view.isReachable && view.lastError == nil)
    relay.restart()
    #expect(relay.attempted.count == 8)
  }

  @Test("a verification that a drain breaks off changes nothing")
  func verificationBrokenOff() {
    var relay = relayInDoubt()
    relay.commit()
    relay.pass(ms: 8000)
    relay.scheduler.stop()
    relay.fail(1, .brokenOff, isWritten: true)
    #expect(relay.uncommitted.isEmpty && relay.line[0].isInDoubt && relay.line[0].attempts == 1)
  }

  @Test("what is in doubt can be run and cancelled, and not corrected")
  func steering() {
    var relay = relayInDoubt()
    relay.commit()
    let entry = relay.line[0]
    let content = EnvelopeContent(
      method: "PUT", target: [0x2F], headers: HeaderBlock(), body: .inline([]))
    let edit = EnvelopeEdit(content: content, tag: nil, entry: entry, notBefore: nil)
    #expect(relay.obey(.edit(edit), of: relay.line[0]) == .inDoubt)
    #expect(relay.obey(.run, of: relay.line[0]) == .recording)
    relay.commit()
    #expect(relay.verified == [1] && relay.line[0].isInDoubt)
    relay.answer(1, status: 503)
    relay.commit()
    #expect(relay.obey(.cancel(reason: "enough"), of: relay.line[0]) == .recording)
    relay.commit()
    #expect(relay.line.isEmpty)
  }

  @Test("what ended in doubt and was requeued is asked for before it is sent again")
  func requeued() {
    var relay = relayInDoubt()
    relay.commit()
    var entry = relay.line[0]
    relay.obey(.cancel(reason: "enough"), of: entry)
    relay.commit()
    #expect(relay.line.isEmpty)
    entry.waitAgain(hold: false, notBefore: nil, at: relay.clock.wall)
    #expect(relay.obey(.requeue(into: .strict), of: entry) == .recording)
    relay.commit()
    #expect(relay.verified == [1] && relay.attempted == [1])
  }

  @Test("one that expires after an unclear answer was not ended by the upstream")
  func expiredAfterUnclearAnswer() throws {
    var relay = relay(.verify)
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 8000))
    relay.commit()
    relay.fail(1, .timeout, isWritten: true)
    relay.commit()
    relay.pass(ms: 7000)
    #expect(relay.verified == [1])
    relay.pass(ms: 1000)
    relay.answer(1, status: 503)
    let change = try #require(relay.uncommitted.first)
    guard case .end(.expired, _) = change.change else {
      Issue.record("it did not expire")
      return
    }
    #expect(!change.endsByAnswer && change.response == nil && change.leavesDoubt(true))
  }

  @Test("who was told to ask later does so, whether or not the upstream is back meanwhile")
  func backoffAfterUnclearAnswer() throws {
    var relay = relayInDoubt()
    relay.commit()
    relay.pass(ms: 8000)
    relay.answer(1, status: 500, retryAfter: "50")
    relay.commit()
    for lane in 2...4 {
      relay.accept(lane: Int64(lane))
      relay.commit()
      relay.fail(Serial(lane))
      relay.commit()
    }
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.isReachable == false)
    relay.pass(ms: 8000)
    relay.commit()
    for entry in relay.inFlight { relay.answer(entry.serial) }
    #expect(relay.scheduler.upstreamViews()[ManualRelay.upstream]?.isReachable == true)
    relay.commit()
    #expect(relay.verified == [1])
  }

  @Test("what expires in doubt says so")
  func expired() {
    var relay = relay(.verify)
    relay.accept(relay.makeEntry(lane: 1, expiresInMs: 5000))
    relay.commit()
    relay.fail(1, .timeout, isWritten: true)
    relay.commit()
    relay.pass(ms: 5000)
    relay.expire(1)
    guard case .end(.expired, let reason)? = relay.uncommitted.first?.change else {
      Issue.record("it did not expire")
      return
    }
    #expect(reason.contains("may have arrived"))
  }
}

@Suite("Where an upstream is asked")
struct VerificationPathTests {
  private let id = EnvelopeID(
    serial: 7, acceptedAt: WallTime(millisecondsSinceEpoch: 1_700_000_000_000), random: 1)

  @Test("the id and the sender's key are put in, encoded")
  func filled() throws {
    let path = try #require(VerificationPath("/orders/{id}?key={key}"))
    #expect(
      path.target(id: id, key: "a/b c?&%") == Array("/orders/\(id)?key=a%2Fb%20c%3F%26%25".utf8))
    #expect(path.target(id: id, key: nil) == Array("/orders/\(id)?key=\(id)".utf8))
    #expect(path.description == "/orders/{id}?key={key}")
  }

  @Test(
    "what is no path, or does not name the envelope, is refused",
    arguments: [
      "", "orders/{id}", "/orders", "/orders/{ID}", "/orders/{id", "/orders/id}", "/{id}/{x}",
      "/{id} ", "/{id}#top", "/\u{e9}/{id}", "/{}", "/{id}}",
      "/" + String(repeating: "a", count: 4096) + "{id}",
    ])
  func refused(text: String) {
    #expect(VerificationPath(text) == nil)
  }
}

extension UpstreamPolicy {
  fileprivate func ambiguity(_ ambiguity: AmbiguityPolicy) -> UpstreamPolicy {
    var changed = self
    changed.ambiguity = ambiguity
    return changed
  }
}

import Testing

@testable import RelayCore

@Suite("Changes that a damaged store cannot write")
struct SchedulerUnwrittenTests {
  private let lane = LaneNumber(rawValue: 1)

  /// A relay with one slot, whose first attempt has ended well.
  private func delivered() -> ManualRelay {
    var relay = ManualRelay(policy: .manual.concurrency(1))
    relay.accept(count: 2, lane: 1)
    relay.accept(lane: 2)
    relay.answer(1)
    return relay
  }

  /// The same, where the end of the first envelope, and its quarantine, could not be written.
  private func unwritable() -> ManualRelay {
    var relay = delivered()
    relay.failToWrite()
    relay.failToWrite()
    return relay
  }

  @Test("an end that cannot be written quarantines its envelope, and others go on")
  func quarantined() {
    var relay = delivered()
    relay.failToWrite()
    #expect(relay.uncommitted.count == 1 && relay.uncommitted[0].isQuarantine)
    guard case .block(let reason) = relay.uncommitted[0].change else {
      Issue.record("it is not blocked")
      return
    }
    #expect(reason.hasPrefix("quarantined:") && reason.contains("has taken it"))
    relay.commit()
    #expect(relay.phase(of: 1) == .blocked && relay.attempted == [1, 3])
    relay.answer(3)
    relay.commit()
    #expect(relay.obey(.discard(reason: "lost"), of: relay.line[0]) == .recording)
    relay.commit()
    #expect(relay.attempted == [1, 3, 2] && relay.waiting == 1)
  }

  @Test("a lane whose quarantine cannot be written stands until a start, and is shown")
  func standing() {
    var relay = unwritable()
    #expect(relay.phase(of: 1) == .unwritable && relay.uncommitted.isEmpty)
    #expect(relay.scheduler.blockedLanes(countMax: 9).map(\.lane) == [lane])
    relay.deliverAll()
    relay.pass(ms: 60_000)
    #expect(relay.attempted == [1, 3] && relay.phase(of: 1) == .unwritable)
    #expect(relay.obey(.run, of: relay.line[0]) == .unwritable)
    #expect(relay.obey(.retry, of: relay.line[0]) == .notBlocked)
    relay.restart()
    #expect(relay.attempted == [1, 3, 1])
  }

  @Test("a head that cannot be written may be taken back all the same, if that can be written")
  func cancelled() {
    var relay = unwritable()
    #expect(relay.obey(.cancel(reason: "enough"), of: relay.line[0]) == .recording)
    relay.failToWrite()
    #expect(relay.phase(of: 1) == .unwritable && relay.uncommitted.isEmpty)
    #expect(relay.obey(.cancel(reason: "enough"), of: relay.line[0]) == .recording)
    relay.commit()
    #expect(relay.scheduler.blockedLaneCount == 0)
    relay.deliverAll()
    #expect(relay.attempted == [1, 3, 2] && relay.line.isEmpty)
  }

  @Test("an announcement that cannot be written gives back its slot, and the probe")
  func announced() {
    for isProbe in [false, true] {
      var policy = UpstreamPolicy.manual.concurrency(1)
      policy.ambiguity = .verify
      policy.reachability.failuresBeforeUnreachable = 1
      var relay = ManualRelay(policy: policy)
      if isProbe {
        relay.accept(lane: 9)
        relay.commit()
        relay.fail(1)
        relay.commit()
        relay.obey(.cancel(reason: "enough"), of: relay.line[0])
        relay.commit()
      }
      let first = relay.accept(lane: 1)
      relay.accept(lane: 2)
      if isProbe { relay.pass(ms: 8000) }
      #expect(relay.uncommitted.map(\.serial) == [first])
      #expect(relay.scheduler.isInFlight(first))
      relay.failToWrite()
      #expect(!relay.scheduler.isInFlight(first))
      relay.commit()
      relay.commit()
      #expect(relay.phase(of: 1) == .blocked && relay.attempted.last == first + 1)
      #expect(relay.scheduler.inFlightCount == 1)
    }
  }

  @Test("a deadline behind a head that cannot be written holds up no other, and is not tried again")
  func expired() {
    var relay = ManualRelay()
    relay.accept(lane: 1)
    for lane in [1, 1, 2, 2] { relay.accept(relay.makeEntry(lane: Int64(lane), expiresInMs: 5000)) }
    relay.pass(ms: 5000)
    relay.expire(2)
    #expect(relay.scheduler.changingCount == 1)
    relay.failToWrite()
    #expect(relay.scheduler.changingCount == 0 && relay.uncommitted.isEmpty)
    for serial in 2...5 { relay.expire(Serial(serial)) }
    #expect(relay.uncommitted.map(\.serial) == [3, 5])
    relay.commit()
    #expect(relay.line.map(\.serial) == [1, 2, 4] && relay.waiting == 3)
    // Once its turn comes, it is not sent.
    relay.answer(1)
    relay.commit()
    relay.failToWrite()
    #expect(relay.uncommitted.map(\.isQuarantine) == [true])
    relay.commit()
    relay.expire(2)
    #expect(relay.uncommitted.isEmpty && !relay.attempted.contains(2))
    #expect(relay.phase(of: 1) == .blocked)
  }

  @Test("what somebody asked for and could not be written has left everything as it stood")
  func commands() {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, standing: .held))
    relay.accept(lane: 1)
    relay.accept(relay.makeEntry(lane: 2, standing: .parked))
    relay.accept(relay.makeEntry(lane: 3, standing: .blocked))
    let content = EnvelopeContent(
      method: "PUT", target: [0x2F], headers: HeaderBlock(), body: .inline([]))
    let commands: [(SteeringCommand, Int)] = [
      (.run, 0), (.cancel(reason: "x"), 0), (.cancel(reason: "x"), 1), (.cancel(reason: "x"), 2),
      (.retry, 3), (.discard(reason: "x"), 3),
    ]
    for (command, place) in commands {
      #expect(relay.obey(command, of: relay.line[place]) == .recording)
      relay.failToWrite()
      #expect(relay.uncommitted.isEmpty && relay.scheduler.changingCount == 0)
    }
    for place in 0...3 {
      let entry = relay.line[place]
      let edit = EnvelopeEdit(content: content, tag: nil, entry: entry, notBefore: nil)
      #expect(relay.obey(.edit(edit), of: entry) == .recording)
      relay.failToWrite()
    }
    let ended = relay.makeEntry(lane: 1)
    #expect(relay.obey(.requeue(into: .latest), of: ended) == .recording)
    relay.failToWrite()
    #expect(relay.obey(.requeue(into: .latest), of: ended) == .recording)
    relay.failToWrite()
    #expect(relay.phase(of: 1) == .held && relay.phase(of: 2) == .parked)
    #expect(relay.phase(of: 3) == .blocked && relay.waiting == 4 && relay.attempted.isEmpty)
  }

  @Test("a change that became the head's while it was under way is the head's")
  func becameHead() {
    var relay = ManualRelay()
    relay.accept(count: 2, lane: 1)
    relay.answer(1)
    relay.obey(.cancel(reason: "x"), of: relay.line[1])
    relay.commit(only: 1)
    #expect(relay.phase(of: 1) == .recording)
    relay.failToWrite()
    #expect(relay.attempted == [1, 2])
  }

  @Test("the newest does not go before a head that cannot be written")
  func latest() {
    var relay = ManualRelay()
    relay.latest = [lane]
    relay.accept(lane: 1)
    relay.answer(1)
    relay.failToWrite()
    relay.failToWrite()
    relay.accept(lane: 1)
    #expect(relay.phase(of: 1) == .unwritable && relay.attempted == [1])
    #expect(relay.coalesce(1, by: relay.draft()) == 1)
    #expect(relay.attempted == [1, 2])
  }

  @Test("a run does not wait for a head that could not be let go")
  func run() throws {
    var relay = ManualRelay()
    relay.accept(relay.makeEntry(lane: 1, standing: .held))
    relay.accept(lane: 1)
    relay.run(.ids(Set(relay.members().map(\.id))))
    #expect(relay.uncommitted.map(\.change) == [.release])
    relay.failToWrite()
    let run = try #require(relay.report())
    #expect(run.isComplete && relay.uncommitted.isEmpty)
    guard case .failed(.held, let reason) = run.verdicts[0] else {
      Issue.record("\(run.verdicts)")
      return
    }
    #expect(reason.contains("damaged") && run.verdicts[1] == .skipped(.behind))
  }
}

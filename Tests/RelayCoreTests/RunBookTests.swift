@testable import RelayCore
import Testing

@Suite("Who takes part in which run")
struct RunBookTests {
  private let client = ClientNumber(rawValue: 1)

  @Test("a second run with the same filter joins the first, until that is complete")
  func joining() {
    var relay = ManualRelay()
    relay.accept(lane: 1)
    let first = relay.run(.tag("a"))
    #expect(relay.run(.tag("a")) == first)
    #expect(relay.run(.tag("b")) != first)
    #expect(relay.run(.tag("a"), client: 2) != first)
    relay.deliverAll()
    #expect(relay.report(first)?.isComplete == true)
    #expect(relay.run(.tag("a")) > first)
  }

  @Test("a run that nobody waits for goes on, and is joined with what it has done so far")
  func unattended() {
    var relay = ManualRelay()
    relay.accept(count: 2, lane: 1)
    let first = relay.run()
    relay.runs.leave(first)
    relay.answer(1)
    relay.commit()
    #expect(relay.run() == first)
    #expect(relay.verdicts(first) == [1: .delivered, 2: .pending])
    relay.runs.leave(first)
    relay.deliverAll()
    #expect(relay.runs.stand(of: first) == nil && relay.runs.isEmpty)
  }

  @Test("what becomes durable while it is found out what a run is about counts")
  func early() {
    var relay = ManualRelay()
    relay.accept(count: 2, lane: 1)
    let members = relay.members()
    guard
      let (number, isNew) = try? relay.runs.join(
        .everything, of: client, for: .nobody(at: nil), RunBook.anybody)
    else {
      Issue.record("no run")
      return
    }
    #expect(isNew)
    relay.answer(1)
    relay.commit()
    relay.runs.begin(number, members, in: &relay.scheduler, now: relay.clock)
    #expect(relay.verdicts(number) == [1: .delivered, 2: .pending])
  }

  @Test("a run that cannot begin tells those who joined it, and the next one is a new one")
  func failing() {
    var relay = ManualRelay()
    guard
      let (number, _) = try? relay.runs.join(
        .everything, of: client, for: .nobody(at: nil), RunBook.anybody)
    else {
      Issue.record("no run")
      return
    }
    relay.runs.fail(number, .tooLarge)
    #expect(relay.runs.takeSettled() == [number])
    guard case .failed(.tooLarge) = relay.runs.stand(of: number) else {
      Issue.record("it has not failed")
      return
    }
    #expect(relay.run() > number)
    relay.runs.leave(number)
    #expect(relay.runs.stand(of: number) == nil)
  }

  @Test("where there are too many runs, the oldest that nobody waits for gives way")
  func limit() {
    var relay = ManualRelay()
    relay.accept(lane: 1)
    let first = relay.run(.tag("0"))
    for index in 1..<RunBook.Limits.runsMax { relay.run(.tag("\(index)")) }
    #expect(relay.run(.tag("one more")) == 0)
    relay.runs.leave(first)
    #expect(relay.run(.tag("one more")) > first)
    #expect(relay.runs.stand(of: first) == nil)
  }
}

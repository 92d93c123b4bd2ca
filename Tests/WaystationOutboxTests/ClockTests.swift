import Synchronization
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Clocks that lie", .timeLimit(.minutes(5)))
struct ClockTests {
  private func stand(_ clock: ManualClock) async throws -> Stand {
    try await Stand { settings in
      settings.clock = clock
      settings.startPaused = true
    }
  }

  @Test("an item expires by the time that has passed, whatever the time of day is set to")
  func expires() async throws {
    let clock = ManualClock()
    let stand = try await stand(clock)
    let short = try await stand.outbox.enqueue(
      Request("POST", "/short"), Options(lane: "a", expires: .seconds(60)))
    let long = try await stand.outbox.enqueue(
      Request("POST", "/long"), Options(lane: "b", expires: .seconds(600)))
    clock.setWall(Instant(milliseconds: 0))
    clock.advance(by: .seconds(61))
    #expect(try await stand.ending(of: short).word == "expired")
    clock.setWall(Instant(milliseconds: 4_000_000_000_000))
    await stand.outbox.wake()
    #expect(await stand.outbox.items().map(\.id) == [long])
    await stand.outbox.close()
  }

  @Test("after a start of the device with a clock that is behind, nothing expires")
  func behind() async throws {
    let clock = ManualClock()
    let stand = try await stand(clock)
    let id = try await stand.outbox.enqueue(
      Request("POST", "/a"), Options(expires: .seconds(60)))
    clock.restartDevice()
    clock.setWall(Instant(milliseconds: 1_000))
    let next = try await stand.reopened()
    clock.advance(by: .seconds(3600))
    await next.outbox.wake()
    #expect(await next.outbox.items().map(\.id) == [id])
    await next.outbox.close()
  }

  @Test("after a start of the device the time that it was off counts")
  func off() async throws {
    let clock = ManualClock()
    let stand = try await stand(clock)
    let id = try await stand.outbox.enqueue(
      Request("POST", "/a"), Options(expires: .seconds(60)))
    clock.restartDevice()
    clock.setWall(Instant(milliseconds: clock.wall.milliseconds + 61_000))
    let next = try await stand.reopened()
    #expect(try await next.ending(of: id).word == "expired")
    await next.outbox.close()
  }

  @Test("an item is not sent before its time")
  func notBefore() async throws {
    let clock = ManualClock()
    let stand = try await Stand { $0.clock = clock }
    let id = try await stand.outbox.enqueue(
      Request("POST", "/a"), Options(notBefore: .seconds(30)))
    #expect(await stand.outbox.run().skipped.map(\.1) == [.notBefore])
    clock.advance(by: .seconds(31))
    let ending = Task { await stand.outbox.outcome(of: id) }
    while stand.paths.isEmpty { await Task.yield() }
    clock.advance(by: .seconds(10))
    #expect(await ending.value?.word == "delivered")
    await stand.outbox.close()
  }

  @Test("a wait after a failure is random, grows, and has an end")
  func backoff() {
    var backoff = Backoff(.seconds(1) ... .seconds(300))
    var longest: Int64 = 0
    for number in 0..<200 {
      let wait = backoff.next(random: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
      #expect((1000...300_000).contains(wait))
      longest = max(longest, wait)
    }
    #expect(longest > 100_000)
    backoff.reset()
    #expect(backoff.next(random: .max) <= 3000)
  }

  @Test("a connection that came back ends a wait soon, and not one that somebody asked for")
  func link() {
    var sender = Sender(Sending())
    let failure = ConnectionFailure(reason: "cut", mayHaveArrived: false)
    let until = sender.failed(failure, at: 0, random: 9)
    #expect(!sender.maySend(at: until - 1, onConstrained: true))
    sender.changed(to: .offline, at: 1, random: 0)
    sender.changed(to: .open, at: 2, random: 1000)
    #expect(sender.waitUntil.map { $0 <= 1002 } == true)
    _ = sender.limited("busy", afterMs: 60_000, at: 10, random: 0)
    sender.changed(to: .offline, at: 20, random: 0)
    sender.changed(to: .open, at: 40_000, random: 0)
    #expect(!sender.maySend(at: 60_000, onConstrained: true))
    #expect(sender.maySend(at: 60_010, onConstrained: true))
  }

  @Test("who asks for no wait at all is left alone for the shortest one")
  func noWait() {
    var sender = Sender(Sending())
    #expect(sender.limited("busy", afterMs: 0, at: 10, random: 0) == 1010)
    #expect(sender.limited("busy", afterMs: 2000, at: 10, random: 0) == 2010)
  }

  @Test("credentials that have ended are not used: others are asked for")
  func ended() async throws {
    let clock = ManualClock()
    let credentials = Expiring(clock)
    let stand = try await Stand { settings in
      settings.clock = clock
      settings.credentials = credentials
    }
    for number in 1...2 {
      let id = try await stand.outbox.enqueue(Request("POST", "/\(number)"))
      #expect(try await stand.ending(of: id).word == "delivered")
      #expect(credentials.count == number)
      clock.advance(by: .seconds(3600))
    }
    await stand.outbox.close()
  }

  @Test("without a connection a try is still made, after the longest wait")
  func hint() {
    var sender = Sender(Sending())
    sender.changed(to: .offline, at: 0, random: 0)
    #expect(!sender.maySend(at: 299_999, onConstrained: true))
    #expect(sender.maySend(at: 300_000, onConstrained: true))
  }

  @Test("a connection that costs is left alone where the settings say so")
  func constrained() {
    var sender = Sender(Sending())
    sender.changed(to: .constrained, at: 0, random: 0)
    #expect(sender.maySend(at: 1, onConstrained: true))
    #expect(!sender.maySend(at: 1, onConstrained: false))
  }
}

/// Has a token that ends within the hour, each time that it is asked.
private final class Expiring: Credentials {
  private let asked = Atomic(0)
  private let clock: ManualClock

  init(_ clock: ManualClock) { self.clock = clock }

  var count: Int { asked.load(ordering: .relaxed) }

  func current() async -> Credential? {
    asked.wrappingAdd(1, ordering: .relaxed)
    return .bearer("token", expires: clock.wall.adding(milliseconds: 3_600_000))
  }

  func refused(_ old: Credential?) async -> Credential? { nil }
}

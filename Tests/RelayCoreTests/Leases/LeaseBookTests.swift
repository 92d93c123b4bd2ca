@testable import RelayCore
import Testing

@Suite("A relay's book of leases")
struct LeaseBookTests {
  /// One book, and a database that answers at once what it is asked.
  private struct Desk {
    var book: LeaseBook
    var tables: LeaseTables
    var nowMs: Int64 = 0
    var random = CountingRandom(first: 100)
    /// Everything that the book asked for, but beats and calls that were answered.
    var actions: [LeaseAction] = []

    init(shardCount: Int = 4) {
      var limits = LeaseLimits()
      limits.shardCount = shardCount
      book = LeaseBook(relay: "a", version: "1", limits: limits)
      tables = LeaseTables(shardCount: shardCount)
    }

    var now: MonotonicTime { MonotonicTime(nanoseconds: nowMs * 1_000_000) }

    /// Tells the book something, and has the database answer.
    ///
    /// - Returns: The calls that it made.
    @discardableResult
    mutating func tell(_ event: LeaseEvent) -> [LeaseCall] {
      var calls: [LeaseCall] = []
      var events = [event]
      while !events.isEmpty {
        for action in book.handle(events.removeFirst(), at: now, random: &random) {
          switch action {
          case .beat(let seat, let beats, let isDraining):
            let isThere = tables.beat(seat, beats: beats, isDraining: isDraining)
            events.append(isThere ? .beatSucceeded : .beatRefused)
          case .call(let call):
            calls.append(call)
            events.append(tables.carryOut(call))
          default: actions.append(action)
          }
        }
      }
      return calls
    }

    /// Tells the book something that the database does not answer.
    mutating func tellAlone(_ event: LeaseEvent) -> [LeaseAction] {
      book.handle(event, at: now, random: &random)
    }

    /// Lets time pass, with everything that is due in between.
    mutating func pass(ms: Int64) {
      let end = nowMs + ms
      while let next = book.nextWake(after: now), next.nanoseconds <= end * 1_000_000 {
        nowMs = next.nanoseconds / 1_000_000
        tell(.timePassed)
      }
      nowMs = end
    }

    /// Another relay's beat.
    mutating func beat(of other: Incarnation, _ beats: Int64) {
      _ = tables.beat(other, beats: beats, isDraining: false)
    }

    mutating func takeActions() -> [LeaseAction] {
      defer { actions = [] }
      return actions
    }
  }

  private static let other = Incarnation(rawValue: 7)

  private func join(_ desk: inout Desk) {
    let row = SeatRow(incarnation: Self.other, relay: "b", version: "1", isDraining: false)
    _ = desk.tables.carryOut(.takeSeat(row, givingUp: []))
  }

  @Test("a relay that is alone takes a seat and every shard at once")
  func alone() {
    var desk = Desk()
    desk.tell(.timePassed)
    #expect(desk.takeActions() == (0..<4).map { .lead(ShardLease(shard: $0, epoch: 1)) })
    #expect(desk.book.mayStart(2, at: desk.now) && desk.book.accepts(2))
    desk.pass(ms: 60_000)
    #expect(desk.takeActions().isEmpty && desk.book.mayStart(2, at: desk.now))
  }

  @Test("a lease ends two seconds after the last good beat was sent, not answered")
  func lapse() {
    var desk = Desk()
    desk.tell(.timePassed)
    desk.nowMs = 500
    let asked = desk.tellAlone(.timePassed)
    #expect(asked.count == 2)
    // It is answered late, and counts from when it was sent.
    desk.nowMs = 1900
    _ = desk.tellAlone(.beatSucceeded)
    desk.nowMs = 2499
    #expect(desk.book.mayStart(0, at: desk.now))
    desk.nowMs = 2500
    #expect(!desk.book.mayStart(0, at: desk.now))
    #expect(desk.tellAlone(.timePassed).contains(.cutOff))
    // The seat is given up, since it may still be written under its epochs.
    _ = desk.takeActions()
    let calls = desk.tell(.callUnknown)
    desk.pass(ms: 200)
    #expect(
      calls.isEmpty && desk.takeActions() == (0..<4).map { .lead(.init(shard: $0, epoch: 2)) })
  }

  @Test("a seat that stands still is taken over after the TTL, and not by its name")
  func takeover() {
    var desk = Desk()
    join(&desk)
    _ = desk.tables.carryOut(
      .claim((0..<4).map { .init(shard: $0, epoch: 0) }, deleting: [], by: Self.other))
    desk.tell(.timePassed)
    desk.pass(ms: 2999)
    #expect(desk.takeActions().isEmpty)
    desk.pass(ms: 1)
    #expect(desk.takeActions() == (0..<4).map { .lead(ShardLease(shard: $0, epoch: 2)) })
    #expect(!desk.tables.admits(Self.other))
  }

  @Test("who fails to beat begins to count anew")
  func noStampede() {
    var desk = Desk()
    join(&desk)
    desk.tell(.timePassed)
    desk.pass(ms: 2600)
    // Both cannot reach the database for a moment.
    desk.nowMs = 3000
    #expect(desk.tellAlone(.timePassed).contains { if case .beat = $0 { true } else { false } })
    _ = desk.tellAlone(.beatFailed)
    _ = desk.tellAlone(.callFailed)
    desk.pass(ms: 2900)
    #expect(desk.tables.admits(Self.other))
    desk.pass(ms: 400)
    #expect(!desk.tables.admits(Self.other))
  }

  @Test("shards move after ten quiet seconds, four each half second")
  func voluntaryMoves() {
    var desk = Desk(shardCount: 64)
    desk.tell(.timePassed)
    _ = desk.takeActions()
    join(&desk)
    var moved: [Int] = []
    for beat in 1...40 {
      desk.beat(of: Self.other, Int64(beat))
      desk.pass(ms: 500)
      for action in desk.takeActions() {
        if case .settle(let shard) = action {
          desk.tell(.settled(shard))
          #expect(!desk.book.accepts(shard))
          desk.tell(.frozen(shard))
        }
      }
      moved.append(desk.tables.shards.count { $0.holder == Self.other })
    }
    #expect(moved.prefix(20).allSatisfy { $0 == 0 })
    #expect(moved.contains(4) && zip(moved, moved.dropFirst()).allSatisfy { $1 - $0 <= 4 })
    #expect((moved.last ?? 0) >= 30 && moved.suffix(5).allSatisfy { $0 == moved.last })
  }

  @Test("a move is taken back if its target stands still meanwhile")
  func resume() {
    var desk = Desk()
    desk.tell(.timePassed)
    join(&desk)
    _ = desk.takeActions()
    for beat in 1...21 {
      desk.beat(of: Self.other, Int64(beat))
      desk.pass(ms: 500)
    }
    let settled = desk.takeActions()
    #expect(!settled.isEmpty)
    desk.pass(ms: 2500)
    #expect(desk.takeActions().count == settled.count)
    #expect((0..<4).allSatisfy { desk.book.mayStart($0, at: desk.now) })
  }

  @Test("a commit of unknown outcome gives the seat up, and the shards go on under new epochs")
  func unknownCommit() {
    var desk = Desk()
    desk.tell(.timePassed)
    _ = desk.takeActions()
    guard let seat = desk.book.incarnation else { return #expect(Bool(false)) }
    desk.tell(.commitUnknown(seat))
    #expect(desk.takeActions() == (0..<4).map { .raise(ShardLease(shard: $0, epoch: 2)) })
    #expect(!desk.tables.admits(seat) && desk.book.incarnation != seat)
    // One that is told late concerns a seat that is gone.
    desk.tell(.commitUnknown(seat))
    #expect(desk.takeActions().isEmpty)
  }

  @Test("a drain waits for attempts, hands over, and leaves nothing behind")
  func drain() {
    var desk = Desk()
    desk.tell(.timePassed)
    join(&desk)
    desk.tell(.tablesChanged)
    _ = desk.takeActions()
    desk.tell(.drainAsked)
    #expect(desk.takeActions() == (0..<4).map { .settle($0) })
    #expect((0..<4).allSatisfy { desk.book.accepts($0) && !desk.book.mayStart($0, at: desk.now) })
    for shard in 0..<4 {
      desk.tell(.settled(shard))
      desk.tell(.frozen(shard))
    }
    #expect(desk.takeActions().last == .drained)
    #expect(desk.tables.shards.allSatisfy { $0.holder == Self.other && $0.epoch == 2 })
    #expect(desk.tables.seats.count == 1 && desk.book.nextWake(after: desk.now) == nil)
  }

  @Test("a drain with nobody to hand over to frees the shards")
  func drainAlone() {
    var desk = Desk(shardCount: 1)
    desk.tell(.timePassed)
    desk.tell(.drainAsked)
    desk.tell(.settled(0))
    desk.tell(.frozen(0))
    #expect(desk.takeActions().last == .drained && !desk.tables.holds(0))
  }

  @Test("a refused write has the tables read, and what is others' is lost")
  func refusedWrite() {
    var desk = Desk()
    desk.tell(.timePassed)
    guard let seat = desk.book.incarnation else { return #expect(Bool(false)) }
    _ = desk.tables.carryOut(.leave([seat]))
    desk.tell(.writeRefused(seat))
    #expect(desk.takeActions().suffix(5).first == .cutOff)
    #expect((0..<4).allSatisfy { desk.book.lease(of: $0)?.epoch == 2 })
  }
}

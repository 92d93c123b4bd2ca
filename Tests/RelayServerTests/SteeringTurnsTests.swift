import EventLoop
import RelayCore
import Testing

@testable import RelayServer

@Suite("Turns to change an envelope", .timeLimit(.minutes(5)))
struct SteeringTurnsTests {
  private let loop: EventLoop
  private let turns = SteeringTurns()
  /// The number in the envelope's id, and those of places that it had later.
  private let serial: Serial = 7
  private let place: Serial = 12
  private let laterPlace: Serial = 15

  init() throws { loop = try EventLoop(name: "turns-test") }

  /// The turn, if it is free.
  private func take() async -> SteeringTurns.Turn? {
    await turns.take(serial, on: loop, withinMs: 0)
  }

  @Test("one command at a time has the turn, and the next one when it is given back")
  func alternating() async throws {
    defer { loop.stop() }
    let first = try #require(await take())
    #expect(await take() == nil)
    async let next = turns.take(serial, on: loop, withinMs: 60_000)
    turns.giveBack(first)
    turns.giveBack(try #require(await next))
    #expect(await take() != nil)
  }

  @Test("a change on its way to the disk keeps the turn until it is durable")
  func handedOver() async throws {
    defer { loop.stop() }
    let turn = try #require(await take())
    turns.handOver(turn, at: serial)
    turns.giveBack(turn)
    #expect(await take() == nil)
    turns.ended([serial])
    #expect(await take() != nil)
  }

  @Test("who gives a turn back late does not end the next one's")
  func givenBackLate() async throws {
    defer { loop.stop() }
    let first = try #require(await take())
    turns.handOver(first, at: serial)
    turns.ended([serial])
    let second = try #require(await take())
    turns.giveBack(first)
    #expect(await take() == nil)
    turns.giveBack(second)
    #expect(await take() != nil)
  }

  @Test("who has the turn no longer does not hand over the next one's")
  func handedOverLate() async throws {
    defer { loop.stop() }
    let first = try #require(await take())
    turns.handOver(first, at: place)
    turns.ended([place])
    let second = try #require(await take())
    turns.handOver(first, at: laterPlace)
    turns.ended([laterPlace])
    #expect(await take() == nil)
    turns.giveBack(second)
    #expect(await take() != nil)
  }

  @Test("a change at a place where the envelope no longer is does not end the turn")
  func elsewhere() async throws {
    defer { loop.stop() }
    let turn = try #require(await take())
    turns.handOver(turn, at: place)
    turns.ended([serial])
    #expect(await take() == nil)
    turns.ended([place])
    #expect(await take() != nil)
  }
}

import Synchronization
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Changing what waits", .timeLimit(.minutes(5)))
struct ChangingTests {
  @Test("an item is changed and taken back on the device until it is first sent")
  func onDevice() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let edited = try await stand.outbox.enqueue(Request("POST", "/old"))
    let cancelled = try await stand.outbox.enqueue(Request("POST", "/cancelled"))
    try await stand.outbox.edit(
      edited, Change(request: Request("POST", "/new", .json("{}"))))
    try await stand.outbox.cancel(cancelled)
    #expect(try await stand.ending(of: cancelled).word == "cancelled")
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: edited).word == "delivered")
    #expect(stand.paths == ["/new"])
    await stand.outbox.close()
  }

  @Test("an item of which nothing has left the device can still be taken back, and leaves no gap")
  func neverLeft() async throws {
    let stand = try await Stand()
    let events = stand.outbox.events()
    stand.relay.cut()
    let first = try await stand.outbox.enqueue(Request("POST", "/first"))
    let second = try await stand.outbox.enqueue(Request("POST", "/second"))
    _ = await events.first { if case .unreachable = $0 { true } else { nil } }
    try await stand.outbox.pause()
    try await stand.outbox.cancel(first)
    stand.relay.mend()
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: second).word == "delivered")
    #expect(stand.paths == ["/second"])
    await stand.outbox.close()
  }

  @Test("what the relay has is changed and taken back there")
  func atRelay() async throws {
    let stand = try await Stand()
    stand.relay.isUpstreamAway = true
    let edited = try await stand.outbox.enqueue(Request("POST", "/old"), Options(lane: "a"))
    let cancelled = try await stand.outbox.enqueue(
      Request("POST", "/cancelled"), Options(lane: "b"))
    let accepted = stand.outbox.events(.ids([edited, cancelled]))
    await stand.outbox.wake()
    var atRelay = await stand.outbox.items().count { $0.isAtRelay }
    if atRelay < 2 {
      for await event in accepted {
        if case .accepted = event { atRelay = await stand.outbox.items().count { $0.isAtRelay } }
        if atRelay == 2 { break }
      }
    }
    try await stand.outbox.edit(edited, Change(request: Request("POST", "/new")))
    try await stand.outbox.cancel(cancelled)
    #expect(try await stand.ending(of: cancelled).word == "cancelled")
    stand.relay.isUpstreamAway = false
    #expect(try await stand.ending(of: edited).word == "delivered")
    #expect(stand.paths == ["/new"])
    await stand.outbox.close()
  }

  @Test("what a check-in says of an item that was resolved meanwhile does not stop it again")
  func resolvedMeanwhile() async throws {
    let gate = SyncGate()
    let stand = try await Stand { settings in
      gate.transport = settings.transport
      settings.transport = gate
      settings.sending.checkInEvery = .milliseconds(5)
    }
    stand.relay.refuse("/bad")
    let id = try await stand.outbox.enqueue(Request("POST", "/bad"))
    #expect(try await stand.ending(of: id).word == "refused")
    let events = stand.outbox.events(.ids([id]))
    await gate.hold()
    try await stand.outbox.resolve(id, .retry(Change(request: Request("POST", "/good"))))
    gate.letGo()
    let next = await events.first { event -> String? in
      switch event {
      case .errorRecorded: "stopped again"
      case .ended(_, let outcome): outcome.word
      default: nil
      }
    }
    #expect(next == "delivered")
    await stand.outbox.close()
  }

  @Test("a recorded error stops an item until it is resolved, over a start of the app")
  func recordedError() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    try await stand.outbox.recordError(id, RecordedError(id: "name", message: "the name is taken"))
    let next = try await stand.reopened { $0.startPaused = false }
    try await next.outbox.resume()
    let item = try #require(await next.outbox.item(id))
    #expect(item.lastError == RecordedError(id: "name", message: "the name is taken"))
    #expect(await next.outbox.run().skipped.map(\.1) == [.laneBlocked])
    try await next.outbox.resolve(id, .retry())
    #expect(try await next.ending(of: id).word == "delivered")
    await next.outbox.close()
  }

  @Test("what is cleared ends as cancelled, and what is being sent goes on")
  func cleared() async throws {
    let stand = try await Stand { $0.startPaused = true }
    var ids: [Item.ID] = []
    for number in 1...5 {
      ids.append(
        try await stand.outbox.enqueue(
          Request("POST", "/\(number)"), Options(tag: number % 2 == 0 ? "even" : "odd")))
    }
    #expect(try await stand.outbox.clear(.tag("even")) == 2)
    #expect(await stand.outbox.items().map(\.id) == [ids[0], ids[2], ids[4]])
    #expect(try await stand.ending(of: ids[1]).word == "cancelled")
    await stand.outbox.close()
  }

  @Test("a discarded item is over, with the app's reason, and its lane goes on")
  func discarded() async throws {
    let stand = try await Stand()
    stand.relay.refuse("/bad")
    let bad = try await stand.outbox.enqueue(Request("POST", "/bad"))
    let behind = try await stand.outbox.enqueue(Request("POST", "/behind"))
    #expect(try await stand.ending(of: bad).word == "refused")
    try await stand.outbox.resolve(bad, .discard(reason: "nobody wants it"))
    #expect(try await stand.ending(of: behind).word == "delivered")
    #expect(await stand.outbox.item(bad)?.isOver == true)
    await stand.outbox.close()
  }

  @Test("what is not known, and what is over, cannot be changed")
  func impossible() async throws {
    let stand = try await Stand()
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    _ = try await stand.ending(of: id)
    await #expect(throws: ChangeError.self) { try await stand.outbox.cancel(id) }
    await #expect(throws: ChangeError.self) {
      try await stand.outbox.cancel(Item.ID(raw: 99))
    }
    await stand.outbox.close()
  }
}

extension Item {
  /// Whether the relay has it.
  var isAtRelay: Bool {
    if case .atRelay = state { true } else { false }
  }

  /// Whether it is over.
  var isOver: Bool {
    if case .ended = state { true } else { false }
  }
}

/// Keeps the answer to a check-in back, once a test says so, until it lets go.
private final class SyncGate: Transport {
  private struct State {
    var transport: (any Transport)?
    var isHolding = false
    let held = AsyncStream.makeStream(of: Void.self)
    let wait = AsyncStream.makeStream(of: Void.self)
  }

  private let state = Mutex(State())

  var transport: (any Transport)? {
    get { state.withLock { $0.transport } }
    set { state.withLock { $0.transport = newValue } }
  }

  /// Returns once the relay has given an answer that is kept back.
  func hold() async {
    let held = state.withLock { state in
      state.isHolding = true
      return state.held.stream
    }
    for await _ in held { break }
  }

  func letGo() { state.withLock { $0.wait.continuation.finish() } }

  func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    guard let transport else { throw ConnectionFailure(reason: "none", mayHaveArrived: false) }
    let response = try await transport.send(exchange, progress: progress)
    let wait = state.withLock { state -> AsyncStream<Void>? in
      guard state.isHolding, exchange.url.hasSuffix("/sync") else { return nil }
      state.isHolding = false
      state.held.continuation.yield()
      return state.wait.stream
    }
    if let wait { for await _ in wait {} }
    return response
  }
}

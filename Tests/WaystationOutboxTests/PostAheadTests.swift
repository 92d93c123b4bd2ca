import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

/// The core by itself, with a relay in memory: what is sent when is plain to see.
@Suite("A post that is put together while another one is under way")
struct PostAheadTests {
  @Test("goes once the relay has taken the one before it, before that is written down")
  func early() throws {
    let stand = try CoreStand(items: 4)
    let first = try #require(try stand.pump())
    #expect(stand.keys(of: first) == ["key-1", "key-2"])
    let second = try #require(try stand.take(stand.answer(first), of: first).early)
    #expect(stand.keys(of: second) == ["key-3", "key-4"])
    #expect(try stand.sendsNothing(after: stand.answer(second), of: second))
    #expect(stand.relay.delivered.map(\.path) == ["/1", "/2", "/3", "/4"])
  }

  @Test("is not made of few items: others may come that go with them")
  func few() throws {
    let stand = try CoreStand(items: 3)
    let first = try #require(try stand.pump())
    #expect(stand.core.state.ahead == nil)
    let sent = try stand.take(stand.answer(first), of: first)
    #expect(sent.early == nil)
    #expect(stand.keys(of: try #require(sent.later)) == ["key-3"])
  }

  @Test(
    "stays where the relay has not taken the one before it, and its items can be taken back",
    arguments: [429, 503, 200, nil])
  func takenApart(status: Int?) throws {
    let stand = try CoreStand(items: 4)
    let first = try #require(try stand.pump())
    let result: Result<Response, ConnectionFailure> =
      status.map { .success(Response(status: $0, headers: [], body: Array("<html>".utf8))) }
      ?? .failure(ConnectionFailure(reason: "cut", mayHaveArrived: true))
    #expect(try stand.sendsNothing(after: result, of: first))
    for id in [3, 4] {
      let item = try #require(try stand.core.file.item(Int64(id)))
      #expect(item.state == .waiting)
      #expect(item.attempts == 0)
    }
    #expect(try stand.cancel(3))
    #expect(try !stand.cancel(1), "the relay may have it")
  }

  @Test("loses an item that is taken back meanwhile, and brings the others")
  func cancelled() throws {
    let stand = try CoreStand(items: 4)
    let first = try #require(try stand.pump())
    #expect(try stand.cancel(3))
    let sent = try stand.take(stand.answer(first), of: first)
    let second = try #require(sent.early ?? sent.later)
    _ = try stand.take(stand.answer(second), of: second)
    #expect(stand.relay.delivered.map(\.path) == ["/1", "/2", "/4"])
  }

  @Test("goes under a number of its own once more if the disk does not take the answer before it")
  func diskFails() throws {
    let stand = try CoreStand(items: 4)
    let first = try #require(try stand.pump())
    let answer = stand.answer(first)
    let lost = try #require(try stand.take(answer, of: first, isKept: false).early)
    let again = try #require(try stand.take(answer, of: first).early)
    #expect(lost.number != again.number)
    #expect(try stand.sendsNothing(after: stand.answer(lost), of: lost))
    #expect(
      stand.core.state.atRelay + stand.core.state.endings == 2, "nobody waits for that answer")
    _ = try stand.take(stand.answer(again), of: again)
    #expect(stand.relay.delivered.map(\.path) == ["/1", "/2", "/3", "/4"])
  }

  @Test("tells how old its items are when it goes")
  func ages() throws {
    let stand = try CoreStand(items: 4)
    let first = try #require(try stand.pump())
    stand.now.monotonicMs += 5000
    let second = try #require(try stand.take(stand.answer(first), of: first).early)
    #expect(stand.lines(of: second).dropFirst().allSatisfy { $0.contains(#""age":5"#) })
  }

  @Test("is not made of what stands behind an item that waits for somebody")
  func behindHeld() throws {
    let stand = try CoreStand(items: 2)
    try stand.enqueue([stand.item(3, isHeld: true), stand.item(4), stand.item(5)])
    let first = try #require(try stand.pump())
    #expect(try stand.sendsNothing(after: stand.answer(first), of: first))
    #expect(stand.relay.delivered.map(\.path) == ["/1", "/2"])
  }
}

/// A core with posts of two items, and a relay in memory.
private final class CoreStand {
  let folder: TemporaryFolder
  let core: OutboxCore
  var relay = RelayModel()
  var now = Moment(wallMs: 1_800_000_000_000, monotonicMs: 1000, boot: 1)
  private var early: [OutgoingExchange] = []

  init(items: Int) throws {
    folder = try TemporaryFolder()
    var sending = Sending()
    sending.batchItems = 2
    sending.checkInEvery = nil
    core = try OutboxCore(
      OutboxFile(path: "\(folder.path)/outbox.sqlite3", durability: .ordered),
      CoreSettings(
        destination: .relay(base: "http://relay", client: "device"), lanes: [:],
        collections: [:], limits: Limits(), sending: sending, asksReadiness: false,
        bodies: folder.path), bootID: "boot", incarnation: "device", random: { 7 })
    core.early = { [unowned self] in early += Self.sent($0) }
    try enqueue((1...items).map { item($0) })
    // The first item of a lane would go by itself.
    core.state.confirmedLanes = Set(core.state.lanes.keys)
  }

  func item(_ number: Int, isHeld: Bool = false) -> NewItem {
    var item = NewItem(
      key: "key-\(number)", lane: "a",
      request: KeptRequest(upstream: nil, method: "POST", path: "/\(number)", headers: []),
      body: .none)
    item.hold = isHeld
    return item
  }

  func enqueue(_ items: [NewItem]) throws {
    try core.begin()
    _ = try core.enqueue(items, at: now)
    _ = try core.commit()
  }

  /// What the core sends by itself.
  func pump() throws -> OutgoingExchange? {
    try core.begin()
    try core.pump(at: now)
    return Self.sent(try core.commit()).first
  }

  /// What the core sends upon an answer: before the transaction's end, and after it.
  func take(
    _ result: Result<Response, ConnectionFailure>, of exchange: OutgoingExchange,
    isKept: Bool = true
  ) throws -> (early: OutgoingExchange?, later: OutgoingExchange?) {
    early = []
    try core.begin()
    try core.take(result, of: exchange.number, at: now)
    guard isKept else {
      core.rollBack()
      return (early.first, nil)
    }
    try core.pump(at: now)
    return (early.first, Self.sent(try core.commit()).first)
  }

  /// Whether the core sends nothing upon an answer.
  func sendsNothing(
    after result: Result<Response, ConnectionFailure>, of exchange: OutgoingExchange
  ) throws -> Bool {
    let sent = try take(result, of: exchange)
    return sent.early == nil && sent.later == nil
  }

  func answer(_ exchange: OutgoingExchange) -> Result<Response, ConnectionFailure> {
    .success(
      relay.respond(
        exchange.method, exchange.path, exchange.headers.map { ($0.name, $0.value) },
        Array(lines(of: exchange).joined(separator: "\n").utf8)))
  }

  /// Whether an item is taken back.
  func cancel(_ id: Int64) throws -> Bool {
    try core.begin()
    let changing = try core.cancel(Item.ID(raw: id))
    try core.pump(at: now)
    _ = try core.commit()
    return if case .done = changing { true } else { false }
  }

  func lines(of exchange: OutgoingExchange) -> [String] {
    guard case .bytes(let bytes) = exchange.body else { return [] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  func keys(of exchange: OutgoingExchange) -> [String] {
    lines(of: exchange).dropFirst().compactMap { line in
      line.split(separator: "\"").first { $0.hasPrefix("key-") }.map(String.init)
    }
  }

  private static func sent(_ effects: [Effect]) -> [OutgoingExchange] {
    effects.compactMap { if case .send(let exchange) = $0 { exchange } else { nil } }
  }
}

import Synchronization
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("Where items go", .timeLimit(.minutes(5)))
struct DestinationTests {
  @Test("without a relay each item goes to the upstream by itself, in order, under its key")
  func direct() async throws {
    let upstream = Upstream([503, 200, 422, 200])
    let stand = try await Stand { settings in
      settings.destination = .direct(base: "http://upstream/api")
      settings.transport = upstream
      settings.lanes[.default] = .skipping
      settings.sending.linger = .seconds(3600)
    }
    let first = try await stand.outbox.enqueue(Request("PUT", "/1", .json("1")))
    let second = try await stand.outbox.enqueue(Request("POST", "/2"))
    let third = try await stand.outbox.enqueue(Request("POST", "/3"))
    #expect(try await stand.ending(of: first).word == "delivered")
    #expect(try await stand.ending(of: second).word == "refused")
    #expect(try await stand.ending(of: third).word == "delivered")
    let base = "http://upstream/api"
    #expect(upstream.urls == ["\(base)/1", "\(base)/1", "\(base)/2", "\(base)/3"])
    #expect(upstream.keys[0] == upstream.keys[1] && upstream.keys[0] != upstream.keys[2])
    await stand.outbox.close()
  }

  @Test("attempts that nobody has answered do not count against a lane's most")
  func attemptsMax() async throws {
    let upstream = Upstream([0, 0, 0, 503, 503, 200])
    let stand = try await Stand { settings in
      settings.destination = .direct(base: "http://upstream")
      settings.transport = upstream
      var lane = LaneSettings.skipping
      lane.attemptsMax = 2
      settings.lanes[.default] = lane
    }
    let id = try await stand.outbox.enqueue(Request("POST", "/1"))
    #expect(try await stand.ending(of: id).word == "refused")
    #expect(upstream.urls.count == 5)
    await stand.outbox.close()
  }

  @Test("a page of the network is no answer of the upstream's")
  func portal() async throws {
    let upstream = Upstream([302, 511, 200])
    let stand = try await Stand { settings in
      settings.destination = .direct(base: "http://upstream")
      settings.transport = upstream
    }
    let id = try await stand.outbox.enqueue(Request("POST", "/1"))
    #expect(try await stand.ending(of: id).word == "delivered")
    #expect(upstream.urls.count == 3)
    await stand.outbox.close()
  }

  @Test("credentials that are refused are asked for once more, and no item is taken for refused")
  func credentials() async throws {
    let credentials = Renewing()
    let stand = try await Stand { $0.credentials = credentials }
    stand.relay.token = "second"
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    #expect(try await stand.ending(of: id).word == "delivered")
    #expect(credentials.renewals == 1)
    await stand.outbox.close()
  }

  @Test("without other credentials everything waits, until somebody wakes the outbox")
  func signedOut() async throws {
    let stand = try await Stand()
    let events = stand.outbox.events()
    stand.relay.token = "secret"
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    _ = await events.first { if case .credentialsRefused = $0 { true } else { nil } }
    #expect(await stand.outbox.item(id)?.isOver == false)
    stand.relay.token = nil
    await stand.outbox.wake()
    #expect(try await stand.ending(of: id).word == "delivered")
    await stand.outbox.close()
  }

  @Test("a relay that has no room is left alone for a while, and then has all of it")
  func room() async throws {
    let stand = try await Stand()
    stand.relay.isUpstreamAway = true
    stand.relay.roomMax = 2
    var ids: [Item.ID] = []
    for number in 1...6 {
      ids.append(try await stand.outbox.enqueue(Request("POST", "/\(number)")))
    }
    _ = await stand.outbox.events().first { if case .limited = $0 { true } else { nil } }
    stand.relay.roomMax = nil
    stand.relay.isUpstreamAway = false
    for id in ids { #expect(try await stand.ending(of: id).word == "delivered") }
    #expect(stand.paths == (1...6).map { "/\($0)" })
    await stand.outbox.close()
  }

  @Test("a relay that comes back from an older backup is given again what the device still has")
  func restoredRelay() async throws {
    let stand = try await Stand { settings in
      var lane = LaneSettings()
      lane.custody = .delivered
      settings.lanes[.default] = lane
    }
    stand.relay.isUpstreamAway = true
    let backup = stand.relay.backup()
    var ids: [Item.ID] = []
    // A change at the relay is not lost with it either.
    for number in 1...3 {
      ids.append(try await stand.outbox.enqueue(Request("POST", "/\(number)")))
    }
    while await stand.outbox.items().contains(where: { !$0.isAtRelay }) { await Task.yield() }
    try await stand.outbox.edit(ids[1], Change(request: Request("POST", "/edited")))
    stand.relay.restore(backup)
    stand.relay.isUpstreamAway = false
    for id in ids { #expect(try await stand.ending(of: id).word == "delivered") }
    #expect(stand.paths == ["/1", "/edited", "/3"])
    await stand.outbox.close()
  }

  @Test("a restored device goes on above the highest number that the relay has")
  func restoredDevice() async throws {
    let stand = try await Stand()
    for number in 1...3 {
      let id = try await stand.outbox.enqueue(Request("POST", "/\(number)"))
      _ = try await stand.ending(of: id)
    }
    await stand.outbox.close()
    // A backup from before leaves the device's name out, and knows of no number.
    let file = try OutboxFile(
      path: OutboxFile.path(in: "\(stand.folder.path)/outbox"), durability: .ordered)
    try file.begin()
    for var lane in try file.lanes() {
      lane.next = 1
      try file.write(lane)
    }
    try file.commit()
    Platform.remove("\(stand.folder.path)/outbox/device/incarnation")
    let next = try await stand.reopened { $0.startPaused = true }
    let events = next.outbox.events()
    let id = try await next.outbox.enqueue(Request("POST", "/4"))
    try await next.outbox.resume()
    let lane = await events.first { event -> Lane? in
      if case .rejoined(let lane) = event { lane } else { nil }
    }
    #expect(lane == .default)
    #expect(try await next.ending(of: id).word == "delivered")
    #expect(next.paths == ["/1", "/2", "/3", "/4"])
    await next.outbox.close()
  }

  @Test("a large body goes in parts, and a part that was lost goes again")
  func upload() async throws {
    let stand = try await Stand { settings in
      settings.sending.uploadBytes = 1000
      settings.sending.partBytes = 700
    }
    let body = (0..<3000).map { UInt8(truncatingIfNeeded: $0) }
    stand.relay.loseAnswers()
    let id = try await stand.outbox.enqueue(Request("PUT", "/photo", .bytes(body, type: "x/y")))
    let small = try await stand.outbox.enqueue(Request("POST", "/small"), Options(lane: "b"))
    _ = await stand.outbox.events().first { if case .unreachable = $0 { true } else { nil } }
    stand.relay.mend()
    #expect(try await stand.ending(of: id).word == "delivered")
    #expect(try await stand.ending(of: small).word == "delivered")
    #expect(stand.relay.delivered.first { $0.path == "/photo" }?.body == body)
    await stand.outbox.close()
  }
}

/// An upstream that answers with these statuses, and then with 200; 0 stands for no answer.
private final class Upstream: Transport {
  private let state: Mutex<(statuses: [Int], exchanges: [Exchange])>

  init(_ statuses: [Int]) { state = Mutex((statuses, [])) }

  var urls: [String] { state.withLock { $0.exchanges.map(\.url) } }
  var keys: [String?] {
    state.withLock { state in
      state.exchanges.map { $0.headers.first { $0.0 == "Idempotency-Key" }?.1 }
    }
  }

  func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    let status = state.withLock { state in
      state.exchanges.append(exchange)
      return state.statuses.isEmpty ? 200 : state.statuses.removeFirst()
    }
    guard status != 0 else { throw ConnectionFailure(reason: "cut", mayHaveArrived: true) }
    return Response(status: status, headers: [], body: [])
  }
}

/// Has a second token for one that is refused.
private final class Renewing: Credentials {
  private let count = Atomic(0)
  var renewals: Int { count.load(ordering: .relaxed) }
  func current() async -> Credential? { .bearer("first") }
  func refused(_ old: Credential?) async -> Credential? {
    count.wrappingAdd(1, ordering: .relaxed).newValue == 1 ? .bearer("second") : nil
  }
}

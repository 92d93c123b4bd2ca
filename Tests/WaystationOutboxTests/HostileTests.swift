import Synchronization
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("What networks, disks and settings do to an outbox", .timeLimit(.minutes(5)))
struct HostileTests {
  @Test("an item that has no room drops nothing, if what would be dropped is not enough")
  func dropsNothing() async throws {
    let stand = try await Stand { settings in
      settings.limits.bytes = 2000
      settings.limits.whenFull = .dropOldest(lanes: ["t"])
      settings.startPaused = true
    }
    let old = try await stand.outbox.enqueue(
      Request("POST", "/t", .bytes(.zeros(300), type: "x/y")), Options(lane: "t"))
    try await stand.outbox.enqueue(
      Request("POST", "/a", .bytes(.zeros(1200), type: "x/y")), Options(lane: "a"))
    await #expect(throws: EnqueueError.full(.bytes)) {
      try await stand.outbox.enqueue(Request("POST", "/b", .bytes(.zeros(1500), type: "x/y")))
    }
    #expect(await stand.outbox.items(.lane("t")).map(\.id) == [old])
    #expect(await stand.outbox.status()?.waiting == 2)
    await stand.outbox.close()
  }

  @Test(
    "an answer that a relay has not written blames no item",
    arguments: [200, 201, 204, 206, 302, 400, 404, 413, 418, 511])
  func stranger(_ status: Int) async throws {
    let network = Network(Response(status: status, headers: [], body: Array("<html>".utf8)))
    let stand = try await Stand { settings in
      settings.transport = network
      settings.lanes[.default] = .skipping
    }
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    while network.count < 5 { await Task.yield() }
    #expect(await stand.outbox.item(id)?.isOver == false)
    await stand.outbox.close()
  }

  @Test("a wrong base URL blames no item, though a relay may answer there")
  func wrongBase() async throws {
    let network = Network(
      Response(
        status: 404, headers: [("Content-Type", "application/problem+json")],
        body: Array(#"{"type":"urn:waystation:problem:not-found","status":404}"#.utf8)))
    let stand = try await Stand { settings in
      settings.transport = network
      settings.lanes[.default] = .skipping
    }
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    while network.count < 5 { await Task.yield() }
    #expect(await stand.outbox.item(id)?.isOver == false)
    await stand.outbox.close()
  }

  @Test("credentials that are refused again and again are not asked for again and again")
  func refusedAgain() async throws {
    let credentials = Endless()
    let stand = try await Stand { settings in
      settings.credentials = credentials
      settings.sending.backoff = .seconds(1) ... .seconds(300)
    }
    let events = stand.outbox.events()
    stand.relay.token = "none of them"
    try await stand.outbox.enqueue(Request("POST", "/a"))
    _ = await events.first { if case .credentialsRefused = $0 { true } else { nil } }
    #expect(credentials.count == 1)
    #expect(stand.relay.requestCount == 2)
    await stand.outbox.close()
  }

  @Test("a body that is gone stops its own item alone")
  func bodyGone() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let lost = try await stand.outbox.enqueue(
      Request("POST", "/lost", .bytes(.zeros(100_000), type: "x/y")), Options(lane: "a"))
    let other = try await stand.outbox.enqueue(Request("POST", "/other"), Options(lane: "b"))
    let bodies = "\(stand.folder.path)/outbox/bodies"
    for name in Platform.names(in: bodies) { Platform.remove("\(bodies)/\(name)") }
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: other).word == "delivered")
    #expect(try await stand.ending(of: lost).word == "refused")
    #expect(await stand.outbox.item(lost)?.lastError?.id == "body-lost")
    await stand.outbox.close()
  }

  @Test("what is behind an item whose body is gone, in a lane that blocks, waits for somebody")
  func behindGone() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let lost = try await stand.outbox.enqueue(
      Request("POST", "/lost", .bytes(.zeros(100_000), type: "x/y")), Options(lane: "a"))
    let behind = try await stand.outbox.enqueue(Request("POST", "/behind"), Options(lane: "a"))
    let other = try await stand.outbox.enqueue(Request("POST", "/other"), Options(lane: "b"))
    let bodies = "\(stand.folder.path)/outbox/bodies"
    for name in Platform.names(in: bodies) { Platform.remove("\(bodies)/\(name)") }
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: other).word == "delivered")
    #expect(stand.paths == ["/other"])
    try await stand.outbox.resolve(lost, .discard(reason: "gone"))
    #expect(try await stand.ending(of: behind).word == "delivered")
    await stand.outbox.close()
  }

  @Test("a body that the disk fails to read goes in its turn once it can be read")
  func bodyUnreadable() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let damaged = "\(stand.folder.path)/damaged"
    let size = try Damage.unreadable(damaged)
    let first = try await stand.outbox.enqueue(
      Request("POST", "/first", .bytes(.zeros(size), type: "x/y")))
    let second = try await stand.outbox.enqueue(Request("POST", "/second"))
    let other = try await stand.outbox.enqueue(Request("POST", "/other"), Options(lane: "b"))
    let bodies = "\(stand.folder.path)/outbox/bodies"
    let path = "\(bodies)/\(try #require(Platform.names(in: bodies).first))"
    try Platform.move(path, to: "\(path).aside")
    try Platform.move(damaged, to: path)
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: other).word == "delivered")
    // Nobody may look while there is none.
    try await stand.outbox.pause()
    try Platform.move(path, to: damaged)
    try Platform.move("\(path).aside", to: path)
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: first).word == "delivered")
    #expect(try await stand.ending(of: second).word == "delivered")
    #expect(stand.paths == ["/other", "/first", "/second"])
    await stand.outbox.close()
  }

  @Test("a large body that is gone keeps nothing else from going")
  func uploadGone() async throws {
    let stand = try await Stand { settings in
      settings.startPaused = true
      settings.sending.uploadBytes = 80_000
    }
    let lost = try await stand.outbox.enqueue(
      Request("POST", "/lost", .bytes(.zeros(100_000), type: "x/y")), Options(lane: "a"))
    let bodies = "\(stand.folder.path)/outbox/bodies"
    for name in Platform.names(in: bodies) { Platform.remove("\(bodies)/\(name)") }
    let behind = try await stand.outbox.enqueue(
      Request("POST", "/behind"), Options(lane: "a"))
    let other = try await stand.outbox.enqueue(Request("POST", "/other"), Options(lane: "b"))
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: other).word == "delivered")
    #expect(try await stand.ending(of: lost).word == "refused")
    try await stand.outbox.resolve(lost, .discard(reason: "it is gone"))
    #expect(try await stand.ending(of: behind).word == "delivered")
    await stand.outbox.close()
  }

  @Test("a refusal in a lane without order is learnt of, and can be resolved")
  func unorderedBlock() async throws {
    let stand = try await Stand { settings in
      var lane = LaneSettings()
      lane.order = .none(parallel: 4)
      settings.lanes["n"] = lane
    }
    stand.relay.refuse("/bad")
    let bad = try await stand.outbox.enqueue(Request("POST", "/bad"), Options(lane: "n"))
    #expect(try await stand.ending(of: bad).word == "refused")
    try await stand.outbox.resolve(bad, .retry(Change(request: Request("POST", "/good"))))
    #expect(try await stand.ending(of: bad).word == "delivered")
    await stand.outbox.close()
  }

  @Test("the longest times there are count as very long")
  func longTimes() async throws {
    let stand = try await Stand { settings in
      settings.sending.checkInEvery = .seconds(Int64.max)
      settings.sending.batchItems = .max
      settings.sending.batchBytes = .max
      settings.sending.timeout = .seconds(Int64.max)
    }
    let late = try await stand.outbox.enqueue(
      Request("POST", "/late"), Options(lane: "a", notBefore: .seconds(Int64.max)))
    let id = try await stand.outbox.enqueue(
      Request("POST", "/a"), Options(expires: .seconds(Int64.max)))
    try await stand.outbox.edit(late, Change(expires: .seconds(Int64.max)))
    #expect(try await stand.ending(of: id).word == "delivered")
    #expect(await stand.outbox.item(late)?.isOver == false)
    await stand.outbox.close()
  }

  @Test("nothing rings where nothing can go")
  func quiet() throws {
    let folder = try TemporaryFolder()
    for link in [Link.open, .constrained] {
      var sending = Sending()
      sending.linger = .seconds(1)
      sending.onConstrainedNetworks = false
      let core = try OutboxCore(
        OutboxFile(path: "\(folder.path)/\(link).sqlite3", durability: .ordered),
        CoreSettings(
          destination: .relay(base: "http://relay", client: "device"), lanes: [:],
          collections: [:], limits: Limits(), sending: sending, asksReadiness: false,
          bodies: folder.path), bootID: "boot", incarnation: "device", random: { 7 })
      var now = Moment(wallMs: 1_800_000_000_000, monotonicMs: 1000, boot: 1)
      try core.begin()
      core.state.sender.changed(to: link, at: now.monotonicMs, random: 0)
      var held = NewItem(
        key: "key", lane: "a",
        request: KeptRequest(upstream: nil, method: "POST", path: "/a", headers: []), body: .none)
      held.hold = true
      _ = try core.enqueue([held], at: now)
      try core.pump(at: now)
      _ = try core.commit()
      now.monotonicMs += 5000
      try core.begin()
      try core.pump(at: now)
      for effect in try core.commit() {
        if case .alarm(let atMs) = effect { #expect(atMs > now.monotonicMs + 1000) }
      }
    }
  }

  @Test("a mailbox goes on behind an item that is too large")
  func largeMail() async throws {
    let folder = try TemporaryFolder()
    let box = Mailbox("\(folder.path)/mail")
    try box.drop(Request("POST", "/large", .bytes(.zeros(5000), type: "x/y")))
    try box.drop(Request("POST", "/small"))
    let stand = try await Stand { settings in
      settings.limits.bytes = 1000
      settings.mailbox = "\(folder.path)/mail"
    }
    await stand.outbox.wake()
    _ = await stand.outbox.run(within: .seconds(60))
    #expect(stand.paths == ["/small"])
    #expect(Platform.names(in: "\(folder.path)/mail") == ["refused"])
    await stand.outbox.close()
  }

  @Test("a file that was to be moved is still there if it was not taken, and gone if it was")
  func move() async throws {
    let stand = try await Stand { settings in
      settings.limits.items = 1
      settings.startPaused = true
    }
    let source = "\(stand.folder.path)/photo"
    try Platform.write(.zeros(10), toNew: source)
    let request = Request("POST", "/a", .file(path: source, type: "image/jpeg", mode: .move))
    let first = try await stand.outbox.enqueue(Request("POST", "/first"))
    await #expect(throws: EnqueueError.full(.items)) { try await stand.outbox.enqueue(request) }
    #expect(Platform.size(of: source) == 10)
    try await stand.outbox.cancel(first)
    let id = try await stand.outbox.enqueue(request)
    #expect(Platform.size(of: source) == nil)
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: id).word == "delivered")
    #expect(stand.relay.delivered.map(\.body) == [.zeros(10)])
    await stand.outbox.close()
  }

  @Test("a salvage that was cut off is done anew, and loses nothing that could be read")
  func salvageCutOff() async throws {
    let stand = try await Stand { $0.startPaused = true }
    for number in 1...20 { try await stand.outbox.enqueue(Request("POST", "/\(number)")) }
    await stand.outbox.close()
    let folder = "\(stand.folder.path)/outbox"
    let path = OutboxFile.path(in: folder)
    // The mark is there, and half a new database.
    try Platform.write([], toNew: OutboxFile.mark(in: folder))
    try Platform.write(.zeros(5000), toNew: "\(path).new")
    let next = try await stand.reopened()
    #expect(await next.outbox.items().count == 20)
    await next.outbox.close()
    // The damaged one was moved away, and the new one not yet into its place.
    try Platform.write([], toNew: OutboxFile.mark(in: folder))
    try Platform.move(path, to: "\(path).new")
    let last = try await next.reopened()
    #expect(await last.outbox.items().count == 20)
    await last.outbox.close()
  }

  @Test("what was posted once goes exactly so again, whatever the settings say by then")
  func exactlySo() async throws {
    let first = Network(nil)
    let stand = try await Stand { settings in
      settings.transport = first
      settings.lanes[.default] = .skipping
    }
    try await stand.outbox.enqueue(Request("POST", "/a"))
    while first.count < 1 { await Task.yield() }
    let second = Network(nil)
    let next = try await stand.reopened { settings in
      settings.transport = second
      settings.lanes[.default] = LaneSettings()
    }
    while second.count < 1 { await Task.yield() }
    #expect(first.lines.first?.contains(#""onFailure":"skip""#) == true)
    #expect(second.lines.first?.contains(#""onFailure":"skip""#) == true)
    await next.outbox.close()
  }

  @Test("graceful ends while the app is asked about an item are no deaths of it")
  func closed() async throws {
    var stand = try await Stand { settings in
      settings.readiness = Never()
    }
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    for _ in 0..<5 {
      while await stand.outbox.status() == nil { await Task.yield() }
      stand = try await stand.reopened()
    }
    let item = try #require(await stand.outbox.item(id))
    guard case .waiting = item.state else {
      Issue.record("\(item.state)")
      return
    }
    await stand.outbox.close()
  }

  @Test("a closed outbox does not say that everything was delivered")
  func closedRun() async throws {
    let stand = try await Stand()
    await stand.outbox.close()
    #expect(await stand.outbox.run().isAllDelivered == false)
  }
}

/// A network that answers everything by itself, or cuts everything off.
private final class Network: Transport {
  private let answer: Response?
  private let state = Mutex<[String]>([])

  init(_ answer: Response?) { self.answer = answer }

  var count: Int { state.withLock { $0.count } }
  /// The second lines of the posts: their first items.
  var lines: [String] { state.withLock { $0 } }

  func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response {
    var line = ""
    if case .bytes(let bytes) = exchange.body {
      let text = String(decoding: bytes, as: UTF8.self)
      line = text.split(separator: "\n").dropFirst().first.map(String.init) ?? ""
    }
    state.withLock { $0.append(line) }
    guard let answer else { throw ConnectionFailure(reason: "cut", mayHaveArrived: true) }
    return answer
  }
}

/// Always has other credentials.
private final class Endless: Credentials {
  private let asked = Atomic(0)
  var count: Int { asked.load(ordering: .relaxed) }
  func current() async -> Credential? { .bearer("first") }
  func refused(_ old: Credential?) async -> Credential? {
    .bearer("token-\(asked.wrappingAdd(1, ordering: .relaxed).newValue)")
  }
}

/// Does not answer until it is cancelled.
private struct Never: Readiness {
  func isReady(_ item: Item) async -> Ready {
    // A stream of nothing, which ends with the task.
    for await _ in AsyncStream<Void>(bufferingPolicy: .unbounded, { _ in }) {}
    return .skip(retryAfter: nil)
  }
}

import Synchronization
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite(
  "Commands, as OfflineRequestManager and WhenReachable have their objects", .timeLimit(.minutes(5))
)
struct CommandTests {
  /// Names a friend; its second form has a greeting.
  struct Befriend: Command {
    static let tag: WaystationOutbox.Tag = "befriend"
    static let version = 2
    var name: String
    var greeting: String

    init(name: String, greeting: String) {
      self.name = name
      self.greeting = greeting
    }

    init(stored: [UInt8], version: Int) throws {
      let parts = String(decoding: stored, as: UTF8.self).split(separator: "|").map(String.init)
      guard let name = parts.first else { throw RecordedError(id: "form", message: "no name") }
      self.name = name
      // The first form had none.
      greeting = version < 2 ? "hello" : parts.last ?? ""
    }

    func stored() -> [UInt8] { Array("\(name)|\(greeting)".utf8) }
  }

  @Test("a command becomes a request when its turn comes, in the app's next life as well")
  func made() async throws {
    let stand = try await Stand()
    let id = try await stand.outbox.enqueue(Befriend(name: "ann", greeting: "hi"))
    #expect(await stand.outbox.run().skipped.map(\.1) == [.noHandler("befriend")])
    let next = try await stand.reopened()
    await next.outbox.register(Befriend.self) { command, _ in
      .request(Request("POST", "/friends/\(command.name)", .json("\"\(command.greeting)\"")))
    }
    #expect(try await next.ending(of: id).word == "delivered")
    #expect(next.relay.delivered.map(\.path) == ["/friends/ann"])
    #expect(next.relay.delivered.map(\.body) == [Array("\"hi\"".utf8)])
    await next.outbox.close()
  }

  @Test("a command that an older app has stored is read in its own form")
  func migrated() throws {
    let old = try Befriend(stored: Array("ann".utf8), version: 1)
    #expect(old.greeting == "hello")
  }

  @Test("a handler may put a command off, give it up, or have a person look at it")
  func making() async throws {
    let stand = try await Stand { $0.lanes[.default] = .skipping }
    let count = Atomic(0)
    await stand.outbox.register(Befriend.self) { command, _ in
      switch command.name {
      case "later":
        count.wrappingAdd(1, ordering: .relaxed).newValue == 1
          ? .notYet(retryAfter: .milliseconds(20)) : .request(Request("POST", "/later"))
      case "never": .drop(reason: "nobody")
      default: .failed(RecordedError(id: "name", message: "the name is taken"))
      }
    }
    let later = try await stand.outbox.enqueue(
      Befriend(name: "later", greeting: ""), Options(lane: "a"))
    let never = try await stand.outbox.enqueue(
      Befriend(name: "never", greeting: ""), Options(lane: "b"))
    let taken = try await stand.outbox.enqueue(
      Befriend(name: "taken", greeting: ""), Options(lane: "c"))
    #expect(try await stand.ending(of: later).word == "delivered")
    #expect(try await stand.ending(of: never).word == "cancelled")
    #expect(try await stand.ending(of: taken).word == "refused")
    await stand.outbox.close()
  }

  @Test("an item over which the app died three times is left alone, and the app may try it again")
  func quarantined() async throws {
    let folder = try TemporaryFolder()
    let settings = CoreSettings(
      destination: .relay(base: "http://relay", client: "device"), lanes: [:], collections: [:],
      limits: Limits(), sending: Sending(), asksReadiness: true, bodies: folder.path)
    func core() throws -> OutboxCore {
      try OutboxCore(
        OutboxFile(path: "\(folder.path)/outbox.sqlite3", durability: .ordered), settings,
        bootID: "boot", incarnation: "device", random: { 7 })
    }
    let now = Moment(wallMs: 1_000_000, monotonicMs: 1000, boot: 1)
    var id: Int64 = 0
    for life in 0..<3 {
      // The process ends while the app is asked about the item.
      let core = try core()
      try core.begin()
      if life == 0 {
        let item = NewItem(
          key: "key", lane: "a",
          request: KeptRequest(upstream: nil, method: "POST", path: "/a", headers: []),
          body: .none)
        id = try core.enqueue([item], at: now).get()[0].raw
      }
      try core.pump(at: now)
      let asked = try core.commit().contains { if case .prepare = $0 { true } else { false } }
      #expect(asked)
    }
    let last = try core()
    #expect(try last.file.item(id)?.state == .quarantined)
    try last.begin()
    guard case .done = try last.resolve(Item.ID(raw: id), retry: nil, discard: nil, at: now) else {
      Issue.record("it cannot be resolved")
      return
    }
    _ = try last.commit()
    #expect(try last.file.item(id)?.state == .waiting)
  }
}

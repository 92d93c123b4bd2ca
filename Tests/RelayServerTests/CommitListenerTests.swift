import EventLoop
import Foundation
import RelayCore
@testable import RelayServer
import SQLiteStore
import Synchronization
import Testing

@Suite("Those who hear of commits", .timeLimit(.minutes(5)))
struct CommitListenerTests {
  /// A clock that stands still until a test moves it.
  private final class TestClock: Sendable {
    private let minutes = Mutex<Int64>(28_000_000)

    @Sendable
    func read() -> Now {
      let minute = Minute(rawValue: minutes.withLock { $0 })
      return Now(
        wall: minute.begin,
        monotonic: MonotonicTime(nanoseconds: minute.begin.millisecondsSinceEpoch * 1_000_000))
    }

    func passMinute() { minutes.withLock { $0 += 1 } }
  }

  private func withDispatcher(
    _ body: (Dispatcher, SQLiteStore, TestClock) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try SQLiteStore.open(folder: folder.path, options: SQLiteStore.Options())
    let loop = try EventLoop(name: "test")
    defer { loop.stop() }
    let clock = TestClock()
    let dispatcher = Dispatcher(
      store: store, loop: loop, clock: clock.read, log: Log(LogConfiguration(), descriptor: -1),
      meter: RateMeter(), metrics: RelayMetrics(listeners: []), lanes: LaneRulesTable(),
      quotas: QuotaKeeper(QuotaRules(Configuration())))
    store.start(observer: dispatcher)
    try await body(dispatcher, store, clock)
    await store.close()
  }

  private func draft(coalesce: String? = nil) -> EnvelopeDraft {
    var draft = EnvelopeDraft(
      client: "device-1", lane: "default", upstream: "default",
      content: EnvelopeContent(
        method: "POST", target: Array("/".utf8), headers: HeaderBlock(), body: .inline([])),
      expiresAt: WallTime(millisecondsSinceEpoch: 4_000_000_000_000))
    draft.hold = true
    draft.coalesce = coalesce
    return draft
  }

  @Test("a coalesced post counts in the history as it does in the rates, whatever commit it is in")
  func coalesced() async throws {
    try await withDispatcher { dispatcher, store, clock in
      let number = try #require(try await store.register(upstreams: ["default"])["default"])
      dispatcher.history.add([number])
      dispatcher.history.start { ([number: 2], 2) }
      _ = try await store.append([draft(coalesce: "a")], isAtomic: false)
      for _ in 0..<2 {
        let results = try await store.append([draft(coalesce: "a")], isAtomic: false)
        guard case .coalesced = results[0] else {
          Issue.record("\(results)")
          return
        }
      }
      // Two for what waits and two for what comes with them, in one commit.
      let batch = ["a", "a", "b", "b"].map { draft(coalesce: $0) }
      _ = try await store.append(batch, isAtomic: false)
      // Whoever is told of a later commit knows that all have been told of those before it.
      try await store.note(EventEntry(.started))
      let perSecond = dispatcher.meter.perSecond(.accepted, at: clock.read().monotonic)
      #expect(perSecond * Double(RateMeter.windowSeconds) == 7)
      clock.passMinute()
      let points = try await dispatcher.history.series(of: .hour, number).points
      #expect(points.reduce(0) { $0 + $1.accepted } == 7)
      #expect(store.statistics().envelopes[.held] == 2)
    }
  }

  @Test("who has posted is answered once the scheduler knows, and before accounts are kept")
  func phases() async throws {
    try await withDispatcher { dispatcher, _, clock in
      let now = clock.read()
      let client = ClientNumber(rawValue: 1)
      let entry = LineEntry(
        serial: 1, client: client, lane: LaneNumber(rawValue: 1),
        upstream: UpstreamNumber(rawValue: 1), acceptedAt: now.wall,
        expiresAt: now.wall.adding(milliseconds: 1000), standing: .held)
      var commit = Commit()
      commit.use = [client: WaitingUse(count: 1, bytes: 5)]
      commit.changes = [
        .accepted([
          AcceptedEnvelope(
            entry: entry, id: EnvelopeID(serial: 1, acceptedAt: now.wall, random: 7),
            draft: draft())
        ])
      ]
      let answers = Mutex(0)
      dispatcher.committed(commit) { positions in
        answers.withLock { $0 += 1 }
        #expect(positions.accepted == [1] && positions.coalesced.isEmpty)
        // A claim may end as soon as its sender is awake.
        #expect(dispatcher.quotas.waiting(of: client).count == 1)
        #expect(dispatcher.waitingCountNow.load(ordering: .relaxed) == 1)
        #expect(dispatcher.meter.perSecond(.accepted, at: now.monotonic) == 0)
      }
      #expect(answers.withLock { $0 } == 1)
      #expect(dispatcher.meter.perSecond(.accepted, at: now.monotonic) > 0)
    }
  }

  /// A declaration that makes a type a listener, be it its own or an extension.
  private static var conformance: Regex<(Substring, Substring)> {
    #/\b(?:class|actor|extension) (?:\w+\.)*(\w+)(?:<[^>{]*>)?\s*:[^{]*\bCommitListener\b[^{]*\{/#
  }

  @Test("each listener stands in one of the two lists, once")
  func registered() async throws {
    try await withDispatcher { dispatcher, _, _ in
      let lists = dispatcher.commitListeners
      let registered = (lists.beforeScheduling + lists.afterScheduling).map { "\(type(of: $0))" }
      #expect(Set(registered).count == registered.count, "none stands in the lists twice")
      let conforming = try Documents.sources().flatMap { path, text in
        text.matches(of: Self.conformance).map { (path: path, name: String($0.1)) }
      }
      #expect(conforming.count >= registered.count, "the sources are understood")
      for (path, name) in conforming where !registered.contains(name) {
        Issue.record("\(name) of \(path) stands in no list of Dispatcher.init")
      }
    }
  }

  @Test("whoever goes through a commit's changes is asked about each kind")
  func everyKind() throws {
    for (path, text) in try Documents.sources() {
      if text.contains(Self.conformance) {
        let isNamed = text.contains("func committed(_ commit: Commit, at now: Now)")
        #expect(isNamed, "\(path): call it commit, so that it is found below")
      }
      for mention in text.matches(of: /commit\.changes(?!\.(?:isEmpty|append))/) {
        let before = text[..<mention.startIndex].suffix(14)
        let behind = text[mention.endIndex...]
        let loop = try /\s*\{\n( +)switch change \{/.prefixMatch(in: behind)
        guard before == "for change in ", let loop else {
          Issue.record("\(path) reads the changes without a switch over all kinds")
          continue
        }
        let cases = behind[loop.range.upperBound...].components(separatedBy: "\n\(loop.1)}")[0]
        #expect(!cases.contains("default:"), "\(path) leaves kinds of changes out")
      }
    }
  }
}

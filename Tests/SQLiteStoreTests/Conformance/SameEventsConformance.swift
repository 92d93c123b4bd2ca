import RelayCore
import SQLite
import StoreModel
import Testing

/// What every store logs, and what it tells clients, of the same calls.
@Suite("conformance: the same events", .timeLimit(.minutes(5)))
struct SameEventsConformance {
  /// An event or an ending, with the place in the order of posts instead of an id.
  private struct Told: Equatable {
    var words: [String?]
    var post: Int?
  }

  /// What one store has told.
  private struct Account: Equatable {
    var events: [Told] = []
    var endings: [[Told]] = []
  }

  @Test(
    "whatever is done, every kind of store logs the same, and tells clients the same",
    arguments: [1, 2, 3, 4] as [UInt64])
  func same(seed: UInt64) async throws {
    var accounts: [Account] = []
    for factory in StoreFactory.all {
      try await Bench.with(factory) { bench in
        accounts.append(try await account(bench, seed: seed))
      }
    }
    let first = try #require(accounts.first)
    #expect(first.events.count > 100)
    for other in accounts.dropFirst() {
      #expect(other.endings == first.endings)
      let differs = zip(other.events, first.events).first { $0 != $1 }
      #expect(differs == nil && other.events.count == first.events.count)
    }
  }

  private func account(_ bench: Bench, seed: UInt64) async throws -> Account {
    var random = SeededGenerator(seed: seed)
    var posts: [EnvelopeID] = []
    var account = Account()
    let told = { (id: EnvelopeID?, words: [String?]) in
      Told(words: words, post: id.flatMap { posts.firstIndex(of: $0) })
    }
    for _ in 0..<150 {
      switch Int.random(in: 0..<12, using: &random) {
      case 0..<5: try await post(bench, &posts, &random)
      case 5..<10: try await change(bench, posts, &random)
      case 10: try await steer(bench, &random)
      default:
        let client = "c\(Int.random(in: 0..<2, using: &random))"
        let page = try await bench.store.checkIn(client, seenThrough: 0, countMax: 20)
        account.endings.append(
          page?.endings.map { told($0.fate.id, [$0.lane, "\($0.fate.state)", $0.fate.reason]) }
            ?? [])
      }
      bench.clock.advance(milliseconds: 10)
    }
    account.events = try await bench.events().map { event in
      let numbers: [String?] = [
        "\(event.kind)", "\(event.at)", event.state.map { "\($0)" }, "\(event.numbers)",
        event.attempt.map { "\($0)" }, event.dueAt.map { "\($0)" },
      ]
      return told(
        event.id, numbers + [event.client, event.lane, event.upstream, event.reason])
    }
    return account
  }

  private func post(
    _ bench: Bench, _ posts: inout [EnvelopeID], _ random: inout SeededGenerator
  ) async throws {
    let isNumbered = Bool.random(using: &random)
    var draft = bench.draft(
      client: "c\(Int.random(in: 0..<2, using: &random))", lane: isNumbered ? "numbered" : "free",
      upstream: "u\(Int.random(in: 0..<2, using: &random))",
      sequence: isNumbered ? Int64.random(in: 1...20, using: &random) : nil,
      hold: Int.random(in: 0..<4, using: &random) == 0,
      coalesce: isNumbered ? nil : ["name", nil].randomElement(using: &random) ?? nil)
    draft.isVoid = isNumbered && Int.random(in: 0..<6, using: &random) == 0
    switch try await bench.store.append([draft], isAtomic: false)[0] {
    case .accepted(let id, _, _), .parked(let id, _): posts.append(id)
    default: break
    }
  }

  private func change(
    _ bench: Bench, _ posts: [EnvelopeID], _ random: inout SeededGenerator
  ) async throws {
    let kind = Int.random(in: 0..<8, using: &random)
    guard let id = posts.randomElement(using: &random),
      let record = try await bench.store.envelope(id)
    else { return }
    let entry = record.entry
    guard record.state.isEnd else {
      let attempt = bench.attempt(record.attemptCount + 1, .unreachable)
      switch kind {
      case 0 where record.state == .queued:
        try await bench.record(id, .retry(at: bench.clock.now), attempt: attempt)
      case 1 where record.state == .queued:
        try await bench.record(id, .block(reason: "no"), attempt: attempt)
      case 2 where record.state != .parked: try await bench.record(id, .release)
      case 3...5: try await bench.record(id, .end(.failed, reason: "it went so"))
      case 6 where record.state == .queued: try await bench.record(id, .end(.delivered, reason: ""))
      default: try await bench.record(id, .end(.expired, reason: ""))
      }
      return
    }
    switch kind {
    case 0..<4 where record.state != .delivered:
      var place = entry
      place.standing = .queued
      try await bench.requeue(place)
    case 4, 5: _ = try await bench.store.cancelEnded(entry, reason: "taken back")
    default:
      let edit = EnvelopeEdit(
        content: record.draft.content, tag: nil, entry: entry, notBefore: nil)
      _ = try await bench.store.correctEnded(edit)
    }
  }

  private func steer(_ bench: Bench, _ random: inout SeededGenerator) async throws {
    let client = "c\(Int.random(in: 0..<2, using: &random))"
    let isPaused = Bool.random(using: &random)
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      let lane = LaneName(client: client, lane: "numbered")
      try await bench.store.setPaused(isPaused, .lane(lane)) { _ in }
    case 1: try await bench.store.setPaused(isPaused, .upstream("u1")) { _ in }
    case 2:
      guard let record = try await bench.store.client(client) else { return }
      let part = BacklogSelection(
        record.number, lane: ["numbered", nil].randomElement(using: &random) ?? nil,
        tag: ["t", nil].randomElement(using: &random) ?? nil)
      _ = try await bench.store.cancelAll(of: part, through: nil, reason: "all of it")
    default:
      let lanes = try await bench.store.client(client)?.lanes ?? []
      guard let lane = lanes.first(where: { $0.name == "numbered" }) else { return }
      _ = try await bench.store.skipGaps(
        of: lane.number, parkedBy: bench.clock.now, now: bench.clock.now)
    }
  }
}

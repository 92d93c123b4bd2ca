import RelayCore
import StoreModel
import Testing

/// What every store promises of lists, and of asking for many envelopes at once.
@Suite("conformance: listing", .timeLimit(.minutes(5)))
struct ListingConformance {
  /// All serials that pass, over as many pages as it takes.
  private func walk(
    _ bench: Bench, _ filter: EnvelopeFilter, countMax: Int = 3, looksMax: Int = 1000
  ) async throws -> (serials: [Serial], pages: Int) {
    var serials: [Serial] = []
    var pages = 0
    var start: Serial = 0
    while true {
      let page = try await bench.store.list(
        filter, after: start, countMax: countMax, looksMax: looksMax)
      #expect(page.envelopes.count <= countMax)
      serials += page.envelopes.map(\.id.serial)
      pages += 1
      guard page.hasMore else { return (serials, pages) }
      try #require(page.scannedThrough > start)
      start = page.scannedThrough
    }
  }

  /// Twelve envelopes: of two clients, each with two lanes; every third has ended.
  private func fill(_ bench: Bench) async throws -> [EnvelopeID] {
    var ids: [EnvelopeID] = []
    for index in 0..<12 {
      ids.append(
        try await bench.accept(
          bench.draft(
            client: index % 2 == 0 ? "a" : "b", lane: index % 4 < 2 ? "x" : "y",
            upstream: index < 6 ? "north" : "south", hold: index == 10)))
    }
    for index in stride(from: 0, to: 12, by: 3) {
      try await bench.record(ids[index], .end(index < 6 ? .delivered : .failed, reason: "r"))
    }
    return ids
  }

  @Test(
    "times of acceptance and of the end, statuses and reasons select, also what was parked",
    arguments: StoreFactory.all)
  func outcomes(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let start = bench.clock.now
      var ids: [EnvelopeID] = []
      // The first is parked, and gets a place behind the others once its predecessor has come.
      for number: Int64? in [2, nil, nil, nil, nil, 1] {
        ids.append(
          try await bench.accept(bench.draft(lane: number == nil ? "y" : "x", sequence: number)))
        bench.clock.advance(milliseconds: 60_000)
      }
      for (index, status) in [(1, 200), (2, 400), (3, 422)] {
        try await bench.record(
          ids[index], .end(status == 200 ? .delivered : .failed, reason: "it answered \(status)"),
          response: UpstreamResponse(status: status, headers: HeaderBlock(), body: []))
        bench.clock.advance(milliseconds: 60_000)
      }
      func minute(_ count: Int64) -> WallTime { start.adding(milliseconds: count * 60_000) }
      func found(_ set: (inout EnvelopeSelection) -> Void) async throws -> [Serial] {
        var selection = EnvelopeSelection()
        set(&selection)
        return try await walk(bench, EnvelopeFilter(selection)).serials
      }
      #expect(try await found { $0.accepted.since = minute(0) } == [2, 3, 4, 5, 6, 1])
      #expect(try await found { $0.accepted.since = minute(1) } == [2, 3, 4, 5, 6])
      #expect(try await found { $0.accepted.since = minute(4) } == [5, 6])
      #expect(try await found { $0.accepted.since = minute(6) } == [])
      #expect(try await found { $0.accepted.until = minute(1) } == [1])
      #expect(
        try await found { $0.accepted = .init(since: minute(2), until: minute(4)) } == [3, 4])
      #expect(try await found { $0.ended.since = minute(6) } == [2, 3, 4])
      #expect(try await found { $0.ended = .init(since: minute(7), until: minute(8)) } == [3])
      #expect(try await found { $0.status = 422 } == [4])
      #expect(try await found { $0.reason = "answered 4" } == [3, 4])
      #expect(try await found { $0.reason = "answered 5" } == [])
      #expect(
        try await found {
          $0.status = 400
          $0.accepted.until = minute(2)
        } == [])
    }
  }

  @Test(
    "everything is listed in order of acceptance, page by page", arguments: StoreFactory.all)
  func everything(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      #expect(try await walk(bench, EnvelopeFilter()).serials.isEmpty)
      _ = try await fill(bench)
      for _ in 0..<2 {
        let all = try await walk(bench, EnvelopeFilter())
        #expect(all.serials == Array(1...12) && all.pages == 4)
        try await bench.reopen()
      }
    }
  }

  @Test("filters combine, over what waits and what has ended", arguments: StoreFactory.all)
  func filters(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      _ = try await fill(bench)
      let cases: [(EnvelopeFilter, [Serial])] = [
        (EnvelopeFilter(client: "a"), [1, 3, 5, 7, 9, 11]),
        (EnvelopeFilter(client: "a", lane: "y"), [3, 7, 11]),
        (EnvelopeFilter(lane: "x"), [1, 2, 5, 6, 9, 10]),
        (EnvelopeFilter(upstream: "south"), [7, 8, 9, 10, 11, 12]),
        (EnvelopeFilter(client: "b", upstream: "south"), [8, 10, 12]),
        (EnvelopeFilter(tag: "t", states: [.failed]), [7, 10]),
        (EnvelopeFilter(tag: "other"), []),
        (EnvelopeFilter.tagged(["other", "t"], client: "a"), [1, 3, 5, 7, 9, 11]),
        (EnvelopeFilter.tagged(["other"], client: "a"), []),
        (EnvelopeFilter(states: [.delivered, .failed]), [1, 4, 7, 10]),
        (EnvelopeFilter(client: "b", states: [.delivered, .failed]), [4, 10]),
        (EnvelopeFilter(states: [.held]), [11]),
        (EnvelopeFilter(client: "a", states: [.queued, .delivered]), [1, 3, 5, 9]),
        (EnvelopeFilter(states: [.blocked, .expired, .cancelled]), []),
        (EnvelopeFilter(client: "nobody"), []), (EnvelopeFilter(upstream: "nowhere"), []),
        (EnvelopeFilter(client: "a", lane: "none"), []), (EnvelopeFilter(lane: "none"), []),
      ]
      for (filter, serials) in cases {
        #expect(try await walk(bench, filter).serials == serials, "\(filter)")
        let small = try await walk(bench, filter, countMax: 200, looksMax: 2)
        #expect(small.serials == serials, "\(filter)")
      }
    }
  }

  @Test("what is being delivered is told from what is queued", arguments: StoreFactory.all)
  func inFlight(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      _ = try await fill(bench)
      // 1 has ended, and 11 is held: neither can be under way.
      let flying: Set<Serial> = [1, 2, 5, 11]
      let delivering = EnvelopeFilter(states: [.delivering], inFlight: flying)
      #expect(try await walk(bench, delivering).serials == [2, 5])
      #expect(try await walk(bench, EnvelopeFilter(states: [.delivering])).serials.isEmpty)
      let queued = EnvelopeFilter(states: [.queued], inFlight: flying)
      #expect(try await walk(bench, queued).serials == [3, 6, 8, 9, 12])
      let both = EnvelopeFilter(states: [.delivering, .held], inFlight: flying)
      #expect(try await walk(bench, both).serials == [2, 5, 11])
    }
  }

  @Test("one call looks at no more than it may, and says so", arguments: StoreFactory.all)
  func bounded(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      _ = try await fill(bench)
      let filter = EnvelopeFilter(states: [.held])
      let page = try await bench.store.list(filter, after: 0, countMax: 9, looksMax: 4)
      #expect(page.envelopes.isEmpty && page.hasMore && page.scannedThrough > 0)
      #expect(try await walk(bench, filter, looksMax: 4).pages > 1)
    }
  }

  @Test("a summary holds all that is shown, whatever the state", arguments: StoreFactory.all)
  func summary(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let waiting = try await bench.accept(bench.draft(key: "k", sequence: 1))
      let due = bench.clock.now.adding(milliseconds: 900)
      try await bench.record(
        waiting, .retry(at: due), attempt: bench.attempt(1, .unreachable))
      let ended = try await bench.accept(bench.draft(lane: "other"))
      try await bench.record(
        ended, .retry(at: due), attempt: bench.attempt(1, .unreachable))
      try await bench.record(
        ended, .end(.delivered, reason: ""), attempt: bench.attempt(2, .delivered, status: 201),
        response: UpstreamResponse(status: 201, headers: HeaderBlock(), body: []))
      let expired = try await bench.accept(bench.draft(lane: "third"))
      try await bench.record(
        expired, .retry(at: due), attempt: bench.attempt(1, .unreachable))
      try await bench.record(expired, .end(.expired, reason: "too late"))
      let page = try await bench.store.list(
        EnvelopeFilter(), after: 0, countMax: 9, looksMax: 9)
      try #require(page.envelopes.map(\.id) == [waiting, ended, expired])
      for envelope in page.envelopes {
        let record = try #require(try await bench.store.envelope(envelope.id))
        let same = EnvelopeSummary(record)
        #expect(envelope.fate == same.fate && envelope.dueAt == same.dueAt)
        #expect(envelope.lane == same.lane && envelope.bodyBytes == 5)
        #expect(envelope.lastError == same.lastError)
        #expect(envelope.terms.key == same.terms.key && envelope.terms.tag == "t")
        #expect(envelope.terms.sequence == same.terms.sequence)
        #expect(envelope.terms.target == same.terms.target && envelope.terms.method == "POST")
        #expect(envelope.terms.expiresAt == same.terms.expiresAt)
      }
      #expect(page.envelopes.map(\.lastError) == ["no route", nil, "no route"])
      #expect(page.envelopes.map(\.dueAt) == [due, nil, nil])
    }
  }

  @Test("a body in a file of its own is counted, and not read", arguments: StoreFactory.all)
  func largeBody(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let file = try await bench.store.write([[UInt8](repeating: 1, count: 70_000)])
      _ = try await bench.accept(bench.draft(body: .file(file)))
      let page = try await bench.store.list(
        EnvelopeFilter(), after: 0, countMax: 9, looksMax: 9)
      #expect(page.envelopes.map(\.bodyBytes) == [70_000])
    }
  }

  @Test(
    "what became of many is answered in order, by id and by key", arguments: StoreFactory.all)
  func fates(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let first = try await bench.accept(bench.draft(key: "k1"))
      let second = try await bench.accept(bench.draft(key: "k2"))
      try await bench.record(
        first, .end(.failed, reason: "no"), attempt: bench.attempt(1, .refused, status: 422),
        response: UpstreamResponse(status: 422, headers: HeaderBlock(), body: []))
      // The right serial with other random bits was never given out.
      let other = EnvelopeID(high: first.high, low: first.low ^ 1)
      for _ in 0..<2 {
        let fates = try await bench.store.fates(of: [
          .id(second), .id(other), .key("k1", client: "device-1"), .id(first),
          .key("k1", client: "device-2"), .key("k3", client: "device-1"), .id(second),
        ])
        #expect(fates.map { $0?.id } == [second, nil, first, first, nil, nil, second])
        #expect(fates[0]?.state == .queued && fates[0]?.endedAt == nil)
        #expect(fates[3]?.state == .failed && fates[3]?.reason == "no")
        #expect(fates[3]?.endedAt == bench.clock.now && fates[3]?.responseStatus == 422)
        #expect(fates[3]?.attemptCount == 1)
        #expect(fates[2] == fates[3])
        try await bench.reopen()
      }
      #expect(try await bench.store.fates(of: []).isEmpty)
    }
  }

  @Test("envelopes are shown by their ids, in the ids' order", arguments: StoreFactory.all)
  func summaries(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let ids = try await fill(bench)
      let unknown = EnvelopeID(serial: 3, acceptedAt: ids[2].acceptedAt, random: 12_345)
      for _ in 0..<2 {
        let shown = try await bench.store.summaries(of: [ids[10], unknown, ids[3], ids[1]])
        #expect(shown.map(\.id) == [ids[10], ids[3], ids[1]])
        #expect(shown.map(\.fate.state) == [.held, .delivered, .queued])
        #expect(shown.map(\.terms.client) == ["a", "b", "b"])
        try await bench.reopen()
      }
      #expect(try await bench.store.summaries(of: []).isEmpty)
    }
  }
}

extension EnvelopeFilter {
  /// A filter by any of some tags.
  fileprivate static func tagged(_ tags: Set<String>, client: String) -> EnvelopeFilter {
    var filter = EnvelopeFilter(client: client)
    filter.anyOfTags = tags
    return filter
  }
}

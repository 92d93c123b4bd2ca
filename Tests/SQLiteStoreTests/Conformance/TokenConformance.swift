import RelayCore
import Testing

/// What every store promises of tokens.
@Suite("conformance: tokens", .timeLimit(.minutes(5)))
struct TokenConformance {
  private func record(
    _ id: String, _ grant: TokenRecord.Grant, digest: [UInt8] = [1, 2, 3], label: String? = nil,
    expiresAt: WallTime? = nil
  ) -> TokenRecord {
    TokenRecord(
      id: id, grant: grant, digest: digest, label: label,
      createdAt: WallTime(millisecondsSinceEpoch: 1_800_000_000_000), expiresAt: expiresAt)
  }

  @Test("tokens are there after a restart, as they were kept", arguments: StoreFactory.all)
  func survives(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let all = [
        record(
          "a", .client("till-1"), label: "spare", expiresAt: WallTime(millisecondsSinceEpoch: 9)),
        record("b", .operator(.read)), record("c", .operator(.steer)),
        record("fleet.74", .revoked(client: "t"), digest: []),
      ]
      for token in all.reversed() { #expect(try await bench.store.insertToken(token)) }
      #expect(try await !bench.store.insertToken(record("b", .client("other"))))
      try await bench.reopen()
      let page = try await bench.store.tokens(after: "", client: nil, countMax: 10)
      #expect(page.tokens == all && !page.hasMore)
      #expect(try await bench.store.deleteToken("b"))
      #expect(try await !bench.store.deleteToken("b"))
      try await bench.reopen()
      let rest = try await bench.store.tokens(after: "", client: nil, countMax: 10)
      #expect(rest.tokens.map(\.id) == ["a", "c", "fleet.74"])
    }
  }

  @Test(
    "a token is renewed once for each number, with all that it was, and no other way",
    arguments: StoreFactory.all)
  func renewed(_ factory: StoreFactory) async throws {
    func time(_ number: Int64) -> WallTime { WallTime(millisecondsSinceEpoch: number) }
    try await Bench.with(factory) { bench in
      var first = record("a", .client("till-1"), label: "spare", expiresAt: time(9))
      first.renewal = TokenRecord.Renewal(until: time(99), spanMs: 9)
      let fixed = record("b", .client("till-1"), expiresAt: time(9))
      for token in [first, fixed] { #expect(try await bench.store.insertToken(token)) }
      let second = first.renewed(until: time(18), digest: [4], seed: [5, 6], at: time(8))
      #expect(try await bench.store.renewToken(second, after: 0) == second)
      // Another call was quicker: its renewal stays, and is told.
      let rival = first.renewed(until: time(19), digest: [7], seed: [8], at: time(8))
      #expect(try await bench.store.renewToken(rival, after: 0) == second)
      let third = second.renewed(until: time(27), digest: [9], seed: [0], at: time(17))
      #expect(try await bench.store.renewToken(third, after: 1) == third)
      try await bench.reopen()
      var page = try await bench.store.tokens(after: "", client: nil, countMax: 10)
      #expect(page.tokens == [third, fixed])
      var unknown = third
      unknown.id = "c"
      #expect(try await bench.store.renewToken(unknown, after: 2) == nil)
      unknown.id = "b"
      #expect(try await bench.store.renewToken(unknown, after: 0) == fixed)
      #expect(try await bench.store.deleteToken("a"))
      #expect(try await bench.store.renewToken(third, after: 2) == nil)
      page = try await bench.store.tokens(after: "", client: nil, countMax: 10)
      #expect(page.tokens == [fixed])
    }
  }

  @Test("tokens come page by page, all of them or one client's", arguments: StoreFactory.all)
  func pages(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for number in 10..<30 {
        let client = number.isMultiple(of: 2) ? "even" : "odd"
        _ = try await bench.store.insertToken(record("id\(number)", .client(client)))
      }
      for (client, count) in [(nil, 20), ("even", 10), ("odd", 10), ("none", 0)] as [(String?, Int)]
      {
        var found: [String] = []
        var hasMore = true
        while hasMore {
          let page = try await bench.store.tokens(
            after: found.last ?? "", client: client, countMax: 3)
          found += page.tokens.map(\.id)
          hasMore = page.hasMore
          #expect(page.tokens.count == 3 || !hasMore)
        }
        #expect(found.count == count && found == found.sorted())
      }
    }
  }
}

import RelayCore
import Testing

/// What every store promises of tokens.
@Suite("conformance: tokens", .timeLimit(.minutes(1)))
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

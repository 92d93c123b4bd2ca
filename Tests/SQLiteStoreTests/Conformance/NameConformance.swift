import RelayCore
import Testing

/// What every store promises of the lists of clients and lanes.
@Suite("conformance: clients and lanes", .timeLimit(.minutes(5)))
struct NameConformance {
  @Test(
    "clients come by name, page by page, by what they begin with", arguments: StoreFactory.all)
  func clients(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      let names = [
        "truck", "truck!", "truck-1", "truck-10", "truck-2", "truck~", "trucl", "A", "~",
      ]
      for name in names { try await bench.accept(bench.draft(client: name)) }
      func all(_ prefix: String, by countMax: Int) async throws -> [String] {
        var found: [String] = []
        var hasMore = true
        while hasMore {
          let page = try await bench.store.clients(
            prefix: prefix, after: found.last ?? "", countMax: countMax)
          found += page.clients.map(\.name)
          hasMore = page.hasMore
        }
        return found
      }
      for prefix in ["", "truck", "truck-", "truck-1", "u", "truck!", "~"] {
        let wanted = names.filter { $0.hasPrefix(prefix) }
          .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for countMax in [1, 2, 100] {
          #expect(try await all(prefix, by: countMax) == wanted, "\(prefix) by \(countMax)")
        }
      }
    }
  }

  @Test("a client is listed with its lanes, and lanes by number", arguments: StoreFactory.all)
  func lanes(_ factory: StoreFactory) async throws {
    try await Bench.with(factory) { bench in
      for (client, lane) in [("b", "x"), ("a", "x"), ("b", "default"), ("b", "y")] {
        try await bench.accept(bench.draft(client: client, lane: lane))
      }
      try await bench.reopen()
      let all = try await bench.store.lanes(of: nil, after: nil, countMax: 10)
      #expect(all.lanes.map(\.name.lane) == ["x", "x", "default", "y"] && !all.hasMore)
      #expect(all.lanes.map(\.name.client) == ["b", "a", "b", "b"])
      let page = try await bench.store.lanes(of: "b", after: nil, countMax: 2)
      #expect(page.lanes.map(\.name.lane) == ["x", "default"] && page.hasMore)
      let rest = try await bench.store.lanes(
        of: "b", after: page.lanes.last?.number, countMax: 2)
      #expect(rest.lanes.map(\.name.lane) == ["y"] && !rest.hasMore)
      #expect(try await bench.store.lanes(of: "c", after: nil, countMax: 2).lanes.isEmpty)
      let client = try await bench.store.clients(prefix: "b", after: "", countMax: 1).clients
        .first
      #expect(client?.lanes == (page.lanes + rest.lanes).map(\.number))
    }
  }
}

import Cryptography
import RelayCore
import SQLiteStore
import Testing

/// What every store promises of chains and receipts.
@Suite("conformance: receipts", .timeLimit(.minutes(5)))
struct ReceiptConformance {
  private static let hash: ReceiptHash = { SHA256.digest(of: $0) }

  private static func rules(_ makesReceipts: Bool = true) -> StoreRules {
    var rules = StoreRules()
    if makesReceipts { rules.receipts = ReceiptRules(issuer: "\"r\"", hash: hash) }
    return rules
  }

  private func with(
    _ factory: StoreFactory, _ body: (Bench) async throws -> Void
  ) async throws {
    try await Bench.with(factory) { bench in
      try await bench.reopen(rules: Self.rules())
      try await body(bench)
    }
  }

  private func numbered(_ bench: Bench, _ number: Int64, lane: String = "l") -> EnvelopeDraft {
    var draft = bench.draft(lane: lane, sequence: number)
    draft.coveredDigest = Self.digest(number)
    return draft
  }

  private static func digest(_ number: Int64) -> [UInt8] {
    [UInt8](repeating: UInt8(number), count: 32)
  }

  /// A lane's latest head, and the group that has it.
  private struct LaneReceipt: Equatable {
    var head: LaneHead
    var leaf: Int
    var number: Int64
    var group: StoredGroup
  }

  private func receipt(_ bench: Bench, lane: String = "l") async throws -> LaneReceipt? {
    let name = LaneName(client: "device-1", lane: lane)
    guard let stored = try await bench.store.chain(of: name),
      let group = try await bench.store.receiptGroup(stored.group)
    else { return nil }
    return LaneReceipt(
      head: LaneHead(lane: name, first: stored.first, chain: stored.chain), leaf: stored.leaf,
      number: stored.group, group: group)
  }

  private func forget(_ bench: Bench, countMax: Int, groupsMax: Int = .max) async throws -> Bool {
    let retention = ReceiptRetention(
      since: bench.clock.now, groupsMax: groupsMax, entriesMax: .max)
    return try await bench.store.forgetReceipts(retention, countMax: countMax)
  }

  /// The link that these numbers lead to, and whether the receipt's head is under its group's root.
  private func expect(
    _ receipt: LaneReceipt, covers numbers: [Int64], at place: SourceLocation = #_sourceLocation
  ) {
    var chain = LaneChain(
      of: receipt.head.lane, incarnation: receipt.head.chain.incarnation, at: numbers[0],
      Self.hash)
    for number in numbers {
      chain.pass(through: number - 1)
      chain.take(Self.digest(number), Self.hash)
    }
    #expect(receipt.head.chain.link == chain.link, sourceLocation: place)
    let tree = MerkleTree(joined: receipt.group.leaves, Self.hash)
    let leaf = MerkleTree.leaf(of: receipt.head.bytes, Self.hash)
    #expect(tree?.leaf(at: receipt.leaf) == leaf, sourceLocation: place)
    let payload = String(decoding: receipt.group.payload, as: UTF8.self)
    #expect(payload.contains(Base64URL.encode(tree?.root ?? [])), sourceLocation: place)
  }

  @Test(
    "a lane's chain goes on over reopenings, each group behind the one before",
    arguments: StoreFactory.all)
  func goesOn(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      for number in 1...3 as ClosedRange<Int64> {
        try await bench.accept(numbered(bench, number))
        let before = try #require(try await receipt(bench))
        expect(before, covers: Array(1...number))
        try await bench.reopen(rules: Self.rules())
        #expect(try await receipt(bench) == before)
        #expect(before.number == number)
      }
      #expect(try await receipt(bench, lane: "other") == nil)
    }
  }

  @Test(
    "groups, and the envelopes that they cover, are counted, and so are those that are kept",
    arguments: StoreFactory.all)
  func tallied(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      let none = bench.store.statistics().receipts
      #expect(none == ReceiptTally())
      let drafts = [1, 2, 4].map { numbered(bench, $0) } + [numbered(bench, 1, lane: "m")]
      _ = try await bench.store.append(drafts, isAtomic: false)
      try await bench.accept(bench.draft(lane: "l"))
      // The one that was parked is covered with the number that it waited for.
      try await bench.accept(numbered(bench, 3))
      for number in 5...7 as ClosedRange<Int64> { try await bench.accept(numbered(bench, number)) }
      let tally = bench.store.statistics().receipts
      #expect(tally.coveredCount == 8 && tally.madeCount >= 5)
      #expect(tally.keptCount == tally.madeCount)
      #expect(try await forget(bench, countMax: 99, groupsMax: 2))
      #expect(bench.store.statistics().receipts.keptCount == 2)
      #expect(bench.store.statistics().receipts.madeCount == tally.madeCount)
      try await bench.reopen(rules: Self.rules())
      let reopened = bench.store.statistics().receipts
      #expect(reopened.keptCount == 2 && reopened.madeCount == 0 && reopened.coveredCount == 0)
      try await bench.accept(numbered(bench, 8))
      #expect(bench.store.statistics().receipts.keptCount == 3)
    }
  }

  @Test("many lanes of one transaction are under one root", arguments: StoreFactory.all)
  func group(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      let drafts = (0..<37).map { numbered(bench, 1, lane: "l\($0)") }
      _ = try await bench.store.append(drafts, isAtomic: false)
      for index in 0..<37 {
        let receipt = try #require(try await receipt(bench, lane: "l\(index)"))
        expect(receipt, covers: [1])
        #expect(receipt.number == 1 && receipt.group.leaves.count == 37 * 32)
      }
    }
  }

  @Test(
    "what is parked is covered once it stands in line, and void numbers are passed by",
    arguments: StoreFactory.all)
  func parked(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      try await bench.accept(numbered(bench, 3))
      #expect(try await receipt(bench) == nil)
      try await bench.accept(numbered(bench, 1))
      expect(try #require(try await receipt(bench)), covers: [1])
      var void = bench.draft(lane: "l", sequence: 2)
      void.isVoid = true
      _ = try await bench.store.append([void], isAtomic: false)
      expect(try #require(try await receipt(bench)), covers: [1, 3])
      try await bench.reopen(rules: Self.rules())
      try await bench.accept(numbered(bench, 4))
      expect(try #require(try await receipt(bench)), covers: [1, 3, 4])
    }
  }

  @Test(
    "a chain ends where receipts were not made, and another one begins behind that",
    arguments: StoreFactory.all)
  func pausedReceipts(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      try await bench.accept(numbered(bench, 1))
      let before = try #require(try await receipt(bench))
      try await bench.reopen(rules: Self.rules(false))
      try await bench.accept(bench.draft(lane: "l", sequence: 2))
      #expect(try await receipt(bench) == before)
      try await bench.reopen(rules: Self.rules())
      try await bench.accept(numbered(bench, 3))
      let after = try #require(try await receipt(bench))
      expect(after, covers: [3])
      #expect(after.head.chain.incarnation != before.head.chain.incarnation)
      #expect(after.number == 2)
    }
  }

  @Test(
    "old groups are forgotten, but the last one stays for the next to refer to",
    arguments: StoreFactory.all)
  func forgotten(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      for number in 1...3 as ClosedRange<Int64> {
        try await bench.accept(numbered(bench, 1, lane: "l\(number)"))
        bench.clock.advance(milliseconds: 10)
      }
      #expect(try await forget(bench, countMax: 1) == false)
      #expect(try await receipt(bench, lane: "l1") == nil)
      #expect(try await receipt(bench, lane: "l2") != nil)
      #expect(try await forget(bench, countMax: 9))
      #expect(try await receipt(bench, lane: "l2") == nil)
      let last = try #require(try await receipt(bench, lane: "l3"))
      try await bench.reopen(rules: Self.rules())
      try await bench.accept(numbered(bench, 1, lane: "l4"))
      let next = try #require(try await receipt(bench, lane: "l4"))
      let payload = String(decoding: next.group.payload, as: UTF8.self)
      #expect(payload.contains("\"prev\":\"\(Base64URL.encode(Self.hash(last.group.payload)))\""))
    }
  }

  @Test(
    "no more groups are kept than are to be, however young they are", arguments: StoreFactory.all)
  func counted(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      for number in 1...5 { try await bench.accept(numbered(bench, 1, lane: "l\(number)")) }
      #expect(try await forget(bench, countMax: 9))
      #expect(try await receipt(bench, lane: "l1") != nil)
      #expect(try await forget(bench, countMax: 9, groupsMax: 2))
      for number in 1...5 {
        #expect(try await (receipt(bench, lane: "l\(number)") != nil) == (number > 3))
      }
    }
  }

  @Test("a post that is refused, or came before, changes no chain", arguments: StoreFactory.all)
  func unchanged(_ factory: StoreFactory) async throws {
    try await with(factory) { bench in
      try await bench.accept(numbered(bench, 1))
      let before = try await receipt(bench)
      var other = numbered(bench, 1)
      other.fingerprint = [UInt8](repeating: 2, count: 32)
      _ = try await bench.store.append([numbered(bench, 1), other], isAtomic: false)
      _ = try await bench.store.append([numbered(bench, 2), other], isAtomic: true)
      #expect(try await receipt(bench) == before)
    }
  }
}

import Cryptography
import RelayCore
import Testing

@Suite("The chains of lanes, and the groups that are made of them")
struct OpenChainsTests {
  private static let hash: ReceiptHash = { SHA256.digest(of: $0) }
  private let rules = ReceiptRules(issuer: "\"https://relay.example\"", hash: Self.hash)
  private let lane = LaneNumber(rawValue: 7)
  private let name = LaneName(client: "till-1", lane: "sales")
  private let time = WallTime(millisecondsSinceEpoch: 1_793_383_200_123)

  private func digest(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

  /// Goes on with what was stored, and ends the transaction.
  private func transact(
    _ stored: StoredChain?, after mark: ReceiptMark? = nil, _ body: (inout OpenChains) -> Void
  ) -> (group: ReceiptGroup?, chain: StoredChain?) {
    var chains = OpenChains()
    chains.open(lane, name, stored, rules)
    body(&chains)
    let closed = chains.close(rules, of: [1, 2], after: mark, at: time)
    return (closed.group, closed.chains[0].chain)
  }

  private func take(_ number: Int64, _ chains: inout OpenChains, knows: Bool = true) {
    let came = knows ? LinkedEnvelope(serial: number, digest: digest(UInt8(number))) : nil
    chains.take(number, came, in: lane, Self.hash) { [UInt8](repeating: 9, count: 16) }
  }

  @Test("the bytes are those of the documentation")
  func bytes() throws {
    var item = CoveredItem(
      client: "a", lane: "b", number: 3, key: "k", upstream: "default", method: "POST",
      path: Array("/x".utf8), headers: [("content-type", Array("text/plain".utf8))],
      bodyByteCount: 5, bodyDigest: digest(7))
    var expected = Array("waystation.item.v1".utf8) + [0, 0, 0, 0, 1] + Array("a".utf8)
    expected += [0, 0, 0, 1] + Array("b".utf8) + [0, 0, 0, 0, 0, 0, 0, 3]
    expected += [0, 0, 0, 1] + Array("k".utf8) + [0, 0, 0, 7] + Array("default".utf8)
    expected += [0, 0, 0, 4] + Array("POST".utf8) + [0, 0, 0, 2] + Array("/x".utf8)
    expected += [0, 0, 0, 1, 0, 0, 0, 12] + Array("content-type".utf8)
    expected += [0, 0, 0, 10] + Array("text/plain".utf8) + [0, 0, 0, 0, 0, 0, 0, 5] + digest(7)
    #expect(item.bytes == expected)
    item.headers = []
    #expect(item.bytes.count == expected.count - 30)
    var chain = LaneChain(
      of: name, incarnation: [UInt8](repeating: 9, count: 16), at: 1, Self.hash)
    #expect(
      chain.link
        == Self.hash(
          Array("waystation.lane.v1".utf8) + [0, 0, 0, 0, 6] + Array("till-1".utf8)
            + [0, 0, 0, 5] + Array("sales".utf8) + [UInt8](repeating: 9, count: 16)
            + [0, 0, 0, 0, 0, 0, 0, 1]))
    let former = chain.link
    chain.take(digest(1), Self.hash)
    #expect(chain.link == Self.hash([1] + former + [0, 0, 0, 0, 0, 0, 0, 1] + digest(1)))
    #expect(
      LaneHead(lane: name, first: 1, chain: chain).bytes
        == Array("waystation.head.v1".utf8) + [0, 0, 0, 0, 6] + Array("till-1".utf8)
        + [0, 0, 0, 5] + Array("sales".utf8) + [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
        + chain.link)
  }

  @Test("a chain goes on from one transaction to the next, and its group names the one before")
  func goesOn() throws {
    let first = transact(nil) { take(1, &$0) }
    let group = try #require(first.group)
    #expect(first.chain?.chain.begin == 1 && first.chain?.first == 1 && group.number == 1)
    #expect(
      String(decoding: group.payload, as: UTF8.self).hasPrefix(
        #"{"iss":"https://relay.example","store":"0102","group":1,"size":1,"root":""#))
    let second = transact(first.chain, after: group.mark) { chains in
      for number in 2...4 as ClosedRange<Int64> { take(number, &chains) }
    }
    let chain = try #require(second.chain)
    #expect(chain.first == 2 && chain.chain.last == 4 && chain.group == 2)
    let payload = String(decoding: try #require(second.group).payload, as: UTF8.self)
    #expect(payload.contains("\"prev\":\"\(Base64URL.encode(Self.hash(group.payload)))\""))
    let whole = transact(nil) { chains in
      for number in 1...4 as ClosedRange<Int64> { take(number, &chains) }
    }
    #expect(whole.chain?.chain == chain.chain)
    #expect(StoredChain(chain.bytes) == chain && StoredChain(chain.bytes.dropLast()) == nil)
  }

  @Test("a lane that becomes an evidence lane, or is none any more, begins another chain")
  func becomesEvidence() throws {
    let evidence = ReceiptRules(
      issuer: "\"https://relay.example\"",
      evidence: NamePatterns([.init(pattern: "sales", value: true)]), hash: Self.hash)
    func goOn(
      _ stored: StoredChain?, _ number: Int64, _ rules: ReceiptRules
    ) throws -> (chain: StoredChain, entries: [LedgerEntry]) {
      var chains = OpenChains()
      chains.open(lane, name, stored, rules)
      take(number, &chains)
      let closed = chains.close(rules, of: [1, 2], after: nil, at: time)
      let chain = try #require(closed.chains[0].chain)
      // As it comes back from the store.
      return (try #require(StoredChain(chain.bytes)), closed.entries.map(\.entry))
    }
    let plain = try goOn(nil, 1, rules)
    #expect(!plain.chain.hasLedger && plain.entries.isEmpty)
    let first = try goOn(plain.chain, 2, evidence)
    #expect(first.chain.hasLedger && first.chain.chain.begin == 2)
    let second = try goOn(first.chain, 3, evidence)
    #expect(second.chain.chain.begin == 2 && second.chain.chain.last == 3)
    #expect((first.entries + second.entries).map(\.number) == [2, 3])
    #expect(second.entries.last?.link == second.chain.chain.link)
    let after = try goOn(second.chain, 4, rules)
    #expect(!after.chain.hasLedger && after.chain.chain.begin == 4 && after.entries.isEmpty)
  }

  @Test("numbers that nobody waits for are passed by, and make no receipt of their own")
  func passed() throws {
    let first = transact(nil) { take(1, &$0) }
    let second = transact(first.chain) { $0.pass(SequenceRange(first: 2, last: 9), in: lane) }
    #expect(second.group == nil && second.chain?.group == 1)
    #expect(second.chain?.chain.last == 1 && second.chain?.chain.through == 9)
    let third = transact(second.chain) { take(10, &$0) }
    #expect(third.chain?.chain.last == 10 && third.chain?.chain.begin == 1)
  }

  @Test("what a group covers is counted: what came, in all lanes, since a chain was last begun")
  func covered() {
    var chains = OpenChains()
    var tally = ReceiptTally()
    func close() -> ClosedChains {
      let closed = chains.close(rules, of: [1, 2], after: nil, at: time)
      tally.note(closed)
      return closed
    }
    let other = LaneNumber(rawValue: 8)
    chains.open(lane, name, nil, rules)
    chains.open(other, LaneName(client: "till-1", lane: "other"), nil, rules)
    take(1, &chains)
    chains.pass(SequenceRange(first: 2, last: 3), in: lane)
    take(4, &chains)
    chains.take(1, LinkedEnvelope(serial: 9, digest: digest(1)), in: other, Self.hash) {
      [UInt8](repeating: 9, count: 16)
    }
    #expect(close().coveredCount == 3)
    // A number between that never came ends the chain, and with it what was linked before.
    chains.open(lane, name, nil, rules)
    take(5, &chains)
    take(7, &chains)
    #expect(close().coveredCount == 1)
    chains.open(lane, name, nil, rules)
    take(8, &chains, knows: false)
    let none = close()
    #expect(none.coveredCount == 0 && none.group == nil)
    #expect(tally.madeCount == 2 && tally.coveredCount == 4 && tally.keptCount == 1)
  }

  @Test("groups that are kept are counted by the first and the last of them")
  func kept() {
    var tally = ReceiptTally(kept: 5...9)
    #expect(tally.keptCount == 5 && tally.madeCount == 0)
    tally.forgot(through: 4)
    #expect(tally.keptCount == 5)
    tally.forgot(through: 7)
    #expect(tally.keptCount == 2)
    tally.forgot(through: 9)
    #expect(tally.keptCount == 0 && ReceiptTally().keptCount == 0)
  }

  @Test("a chain that cannot go on ends, and another one begins with the next that is known")
  func ends() throws {
    let first = transact(nil) { take(1, &$0) }
    let jumped = transact(first.chain) { take(5, &$0) }
    #expect(jumped.chain?.chain.begin == 5)
    let unknown = transact(first.chain) { take(2, &$0, knows: false) }
    #expect(unknown.group == nil && unknown.chain == nil)
    let again = transact(first.chain) { chains in
      take(2, &chains, knows: false)
      take(3, &chains)
    }
    #expect(again.chain?.chain.begin == 3 && again.chain?.first == 3)
    let astray = transact(first.chain) { $0.pass(SequenceRange(first: 4, last: 4), in: lane) }
    #expect(astray.chain == nil)
  }
}

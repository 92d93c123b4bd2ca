import RelayCore
import Testing

@Suite("Where shards should be")
struct ShardPlacementTests {
  private func members(_ count: Int) -> [ShardPlacement.Member] {
    (1...count).map { number in
      .init(incarnation: Incarnation(rawValue: Int64(number)), relay: "relay-\(number)")
    }
  }

  private func holders(_ placement: ShardPlacement) -> [Int64] {
    (0..<Shard.count).compactMap { placement.holder(of: $0)?.rawValue }
  }

  @Test("the placement is the same on every machine and in every release")
  func fixedValues() {
    let placed = holders(ShardPlacement(members: members(10)))
    #expect(placed.prefix(16) == [10, 3, 6, 8, 1, 6, 9, 3, 1, 1, 4, 6, 10, 4, 1, 2])
    let sum = placed.reduce(UInt64(0)) { $0 &* 31 &+ UInt64($1) }
    #expect(sum == 12_257_678_602_970_081_380)
  }

  @Test("no seat has more than 1.05 of the mean", arguments: 1...30)
  func evenness(count: Int) {
    let placed = holders(ShardPlacement(members: members(count)))
    #expect(placed.count == Shard.count)
    let most = Dictionary(grouping: placed) { $0 }.values.map(\.count).max() ?? 0
    #expect(Double(most) <= 1.05 * Double(Shard.count) / Double(count))
  }

  @Test("a join and a leave move little more than they must", arguments: 2...12)
  func fewMoves(count: Int) {
    let few = holders(ShardPlacement(members: members(count)))
    let many = holders(ShardPlacement(members: members(count + 1)))
    let moved = zip(few, many).count { $0 != $1 }
    #expect(Double(moved) <= 1.35 * Double(Shard.count) / Double(count + 1))
    if count == 10 { #expect(moved == 105) }
  }

  @Test("neither the order of the seats nor a new incarnation moves anything")
  func namesDecide() {
    let placed = ShardPlacement(members: members(5))
    #expect(placed == ShardPlacement(members: members(5).reversed()))
    var later = members(5)
    later[2].incarnation = Incarnation(rawValue: 1000)
    let again = holders(ShardPlacement(members: later)).map { $0 == 1000 ? 3 : $0 }
    #expect(again == holders(placed))
  }

  @Test("seats of one name share like any others")
  func sameName() {
    var twice = members(2)
    twice[1].relay = twice[0].relay
    let placed = holders(ShardPlacement(members: twice))
    #expect(abs(placed.count { $0 == 1 } - Shard.count / 2) <= Shard.count / 20)
  }

  @Test("without a seat nothing is placed")
  func nobody() {
    #expect(ShardPlacement(members: []).isEmpty)
    #expect(ShardPlacement(members: []).holder(of: 0) == nil)
  }
}

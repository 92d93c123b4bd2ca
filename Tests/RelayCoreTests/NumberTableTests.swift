import Testing

@testable import RelayCore

@Suite("The table by numbers")
struct NumberTableTests {
  /// A value that says so when it was let go.
  private final class Witness: Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
  }

  @Test("it holds what a dictionary holds, whatever is set, changed and taken out")
  func agreesWithDictionary() {
    var random = SplitMix64(seed: 7)
    var table = NumberTable<LaneNumber, [Int]>()
    var model: [LaneNumber: [Int]] = [:]
    for step in 0..<20_000 {
      // Some far apart, so that places collide; few enough to be met again.
      let choice = Int64(random.next() % 300)
      let key = LaneNumber(rawValue: choice % 3 == 0 ? choice << 40 : choice)
      switch random.next() % 5 {
      case 0, 1: (table[key], model[key]) = ([step], [step])
      case 2: (table[key], model[key]) = (nil, nil)
      case 3: #expect(table.removeValue(forKey: key) == model.removeValue(forKey: key))
      default:
        table[key]?.append(step)
        model[key]?.append(step)
      }
      #expect(table[key] == model[key])
      #expect(table.count == model.count)
    }
    #expect(Dictionary(uniqueKeysWithValues: table.map { ($0.key, $0.value) }) == model)
    #expect(table.keys.sorted() == model.keys.sorted())
    for key in model.keys { #expect(table[key] == model[key]) }
  }

  @Test("a key that is not there has no value, and stays away when nothing is set")
  func absentKeys() {
    var table = NumberTable<Serial, Int>()
    table[1]? += 1
    table[2] = nil
    #expect(table.isEmpty && table[1] == nil)
    table[3, default: 40] += 2
    #expect(table[3] == 42 && table.count == 1)
  }

  @Test("a copy keeps what it has when the other one changes")
  func copiesAreApart() {
    var first = NumberTable<Serial, Int>()
    for key in 1...100 { first[Serial(key)] = key }
    var second = first
    for key in 1...50 { first[Serial(key)] = nil }
    second[100] = 0
    second[101] = 101
    #expect(first.count == 50 && first[100] == 100 && first[101] == nil)
    #expect(second.count == 101 && second[1] == 1 && second[100] == 0)
  }

  @Test("what is taken out, replaced, or left when the table goes, is let go")
  func letsGo() {
    weak var taken: Witness?
    weak var replaced: Witness?
    weak var left: Witness?
    do {
      var table = NumberTable<Serial, Witness>()
      for number in 1...20 { table[Serial(number)] = Witness(number) }
      (taken, replaced, left) = (table[1], table[2], table[3])
      #expect(taken?.number == 1 && replaced?.number == 2 && left?.number == 3)
      table[1] = nil
      table[2] = Witness(2)
      #expect(taken == nil && replaced == nil && left != nil)
    }
    #expect(left == nil)
  }

  @Test("it keeps its order and its values while it grows, and when most of them have left")
  func growsAndShrinks() {
    weak var left: Witness?
    var table = NumberTable<Serial, Witness>()
    for number in 1...20_000 { table[Serial(number)] = Witness(number) }
    left = table[19_999]
    #expect(left != nil)
    for number in 1...20_000 where number % 100 != 0 { table[Serial(number)] = nil }
    #expect(left == nil && table.count == 200)
    let kept: [Serial] = (1...200).map { Serial($0 * 100) }
    #expect(table.map(\.key) == kept)
    for number in 1...200 { #expect(table[Serial(number * 100)]?.number == number * 100) }
    for number in 1...200 { table[Serial(number * 100)] = nil }
    #expect(table.isEmpty && table.keys.isEmpty)
  }

  @Test("it goes through its keys in the order in which they came")
  func isRepeatable() {
    var table = NumberTable<ClientNumber, Int>()
    let numbers: [Int64] = [9, 4, 7, 1, 8, 1_000_000, 3]
    for number in numbers { table[ClientNumber(rawValue: number)] = Int(number) }
    #expect(table.map(\.key.rawValue) == numbers)
    var seen: [Int] = []
    table.forEachValue { _, value in seen.append(copy value) }
    #expect(seen == numbers.map(Int.init))
  }

  @Test("a set of numbers says what came to be a member, and what was one")
  func set() {
    var set: NumberSet<LaneNumber> = [LaneNumber(rawValue: 2)]
    #expect(set.insert(LaneNumber(rawValue: 1)).inserted)
    #expect(!set.insert(LaneNumber(rawValue: 1)).inserted)
    #expect(set.contains(LaneNumber(rawValue: 2)) && set.count == 2)
    #expect(set.remove(LaneNumber(rawValue: 2)) == LaneNumber(rawValue: 2))
    #expect(set.remove(LaneNumber(rawValue: 2)) == nil)
    #expect(set.map(\.rawValue) == [1])
  }
}

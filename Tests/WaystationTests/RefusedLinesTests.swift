import Testing

@testable import waystation

@Suite("What is told of refused lines")
struct RefusedLinesTests {
  private static func told(
    _ lines: [(Int64, String)]
  ) -> (now: [Int64], rest: [String]) {
    var refused = RefusedLines()
    let now = lines.filter { refused.add($0.0, $0.1) }.map(\.0)
    return (now, refused.rest)
  }

  @Test("a reason is told once, and the other lines by their numbers")
  func once() {
    let told = Self.told([
      (2, "a"), (3, "a"), (4, "b"), (5, "a"), (6, "a"), (7, "c"), (8, "c"), (9, "a"),
    ])
    #expect(told.now == [2, 4, 7])
    #expect(told.rest == ["lines 3, 5-6, 9: as line 2", "line 8: as line 7"])
  }

  @Test("what is told of a long file is short")
  func many() {
    let odd = Self.told((0..<10_000).map { (Int64($0 * 2), "a") })
    #expect(odd.now == [0] && odd.rest.count == 1)
    #expect(odd.rest[0].hasPrefix("lines 2, 4, 6, ") && odd.rest[0].utf8.count < 400)
    #expect(odd.rest[0].hasSuffix(", 98, 100 and 9,949 others: as line 0"), "\(odd.rest)")
    let all = Self.told((1...10_000).map { (Int64($0), "a") })
    #expect(all.rest == ["lines 2-10000: as line 1"])
    let each = Self.told((1...2_000).map { (Int64($0), "reason \($0)") })
    #expect(each.now.count == 2_000 && each.rest.isEmpty)
  }
}

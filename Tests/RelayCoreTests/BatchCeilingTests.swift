import Testing

@testable import RelayCore

@Suite("How large requests with several envelopes may be")
struct BatchCeilingTests {
  /// Sends full requests of envelopes of 100 bytes to an upstream that takes so many bytes.
  ///
  /// - Returns: Which of them were refused.
  private static func send(
    _ count: Int, to limit: Int, most: Int = 50_000, _ ceiling: inout BatchCeiling
  ) -> [Bool] {
    (0..<count).map { _ in
      let bytes = min(most, ceiling.bytes ?? .max)
      let isRefused = bytes > limit && bytes >= 200
      if isRefused {
        _ = ceiling.refused(bytes: bytes, items: bytes / 100)
      } else {
        ceiling.taken(bytes: bytes, items: max(1, bytes / 100))
      }
      return isRefused
    }
  }

  @Test("it is found by halves, and then hardly anything is refused")
  func found() {
    var ceiling = BatchCeiling()
    let isRefused = Self.send(2000, to: 9000, &ceiling)
    #expect(isRefused[..<3] == [true, true, true] && !isRefused[3], "50,000, 25,000 and 12,500")
    #expect(isRefused.count { $0 } < 12, "\(isRefused.count { $0 })")
    #expect((7000...9000).contains(ceiling.bytes ?? 0), "\(ceiling.bytes ?? 0)")
  }

  @Test("a refusal that does not come again is forgotten after some requests")
  func once() {
    var ceiling = BatchCeiling()
    _ = ceiling.refused(bytes: 50_000, items: 500)
    #expect(ceiling.bytes == 25_000)
    let isRefused = Self.send(100, to: .max, &ceiling)
    #expect(!isRefused.contains(true))
    #expect(ceiling == BatchCeiling())
  }

  @Test("requests that are far from full say nothing of how large one may be")
  func small() {
    var ceiling = BatchCeiling()
    _ = ceiling.refused(bytes: 50_000, items: 500)
    for _ in 0..<1000 { ceiling.taken(bytes: 10_000, items: 100) }
    #expect(ceiling.bytes == 25_000)
  }

  @Test("a request that was under way when it was lowered does not lower it again")
  func underWay() {
    var ceiling = BatchCeiling()
    let isLower = [1, 2].map { _ in ceiling.refused(bytes: 50_000, items: 500) }
    #expect(isLower == [true, false] && ceiling.bytes == 25_000)
    ceiling.taken(bytes: 40_000, items: 400)
    #expect(ceiling.bytes == 40_000, "but what was taken is taken")
  }

  @Test("one large envelope does not make requests of small ones short")
  func large() {
    var ceiling = BatchCeiling()
    _ = ceiling.refused(bytes: 1_000_300, items: 4)
    #expect(ceiling.bytes == 500_150)
    let isLower = ceiling.refused(bytes: 400_000, items: 1)
    #expect(!isLower && ceiling.bytes == 500_150, "it is refused for itself")
  }

  @Test("one allows more than another if its limit is higher, or if it has none")
  func more() {
    var (none, low) = (BatchCeiling(), BatchCeiling())
    _ = low.refused(bytes: 1000, items: 10)
    var high = BatchCeiling()
    _ = high.refused(bytes: 4000, items: 10)
    #expect(high.allowsMore(than: low) && none.allowsMore(than: low))
    #expect(!low.allowsMore(than: high) && !low.allowsMore(than: low))
    none.taken(bytes: 10, items: 1)
    #expect(!low.allowsMore(than: none) && !none.allowsMore(than: none))
  }

  @Test("about as many envelopes are put together as will fit")
  func items() {
    var ceiling = BatchCeiling()
    #expect(ceiling.itemsMax(500) == 500)
    _ = ceiling.refused(bytes: 50_000, items: 500)
    #expect(ceiling.itemsMax(1000) == 500 && ceiling.itemsMax(300) == 300)
    ceiling.taken(bytes: 25_000, items: 1)
    #expect(ceiling.itemsMax(500) == 2)
  }
}

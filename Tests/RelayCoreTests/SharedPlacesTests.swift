import RelayCore
import Testing

@Suite("Places that all share")
struct SharedPlacesTests {
  private static let limits = PlaceLimits(total: 10, perClient: 2, perSource: 5, reserve: 2)
  private static let here = PlaceSource(address: 1)
  private static let there = PlaceSource(address: 2)

  private func refusal(
    _ places: inout SharedPlaces, _ holder: PlaceHolder, _ limits: PlaceLimits = limits
  ) -> SharedPlaces.Refusal? {
    do throws(SharedPlaces.Refusal) {
      _ = try places.take(holder, limits)
      return nil
    } catch {
      return error
    }
  }

  @Test("a client has its share wherever it comes from, and others go on")
  func client() throws {
    var places = SharedPlaces()
    let first = try places.take(.client("a", at: Self.here), Self.limits)
    _ = try places.take(.client("a", at: Self.there), Self.limits)
    let refused = try #require(refusal(&places, .client("a", at: nil)))
    #expect(refused.share == .client && refused.max == 2)
    #expect(first.makesRoom(after: refused))
    let other = try places.take(.client("b", at: Self.here), Self.limits)
    #expect(!other.makesRoom(after: refused))
    places.giveBack(first)
    #expect(refusal(&places, .client("a", at: nil)) == nil)
  }

  @Test("a source has its share however many clients there are behind it")
  func source() throws {
    var places = SharedPlaces()
    for name in ["a", "b", "c", "d"] {
      _ = try places.take(.client(name, at: Self.here), Self.limits)
    }
    _ = try places.take(.nobody(at: Self.here), Self.limits)
    for holder in [PlaceHolder.nobody(at: Self.here), .client("e", at: Self.here)] {
      #expect(refusal(&places, holder)?.share == .source)
    }
    // A refusal takes nothing, of a client's share neither.
    #expect(refusal(&places, .client("e", at: Self.there)) == nil)
    #expect(refusal(&places, .client("e", at: nil)) == nil)
    #expect(places.taken == 7)
  }

  @Test("operators have what is kept for them, and none of them all of it")
  func reserve() throws {
    var places = SharedPlaces()
    for number in 0..<8 { _ = try places.take(.client("\(number)", at: nil), Self.limits) }
    let full = refusal(&places, .client("other", at: nil))
    #expect(full?.share == .all && full?.max == 8)
    let first = try places.take(.operator("ops"), Self.limits)
    _ = try places.take(.operators(at: Self.here), Self.limits)
    #expect(refusal(&places, .operator("more"))?.share == .all)
    places.giveBack(first)
    // What was the operators' stays theirs.
    #expect(refusal(&places, .client("other", at: nil))?.share == .all)
    var others = SharedPlaces()
    for _ in 0..<5 { _ = try others.take(.operator("ops"), Self.limits) }
    #expect(refusal(&others, .operator("ops"))?.share == .operator)
    #expect(refusal(&others, .operator("more")) == nil)
  }

  @Test("shares are rounded so that each has a place, and the reserve never takes the last one")
  func rounding() {
    let shares = PlaceShares()
    #expect(
      shares.limits(of: 128) == PlaceLimits(total: 128, perClient: 16, perSource: 96, reserve: 15))
    #expect(shares.limits(of: 1) == PlaceLimits(total: 1, perClient: 1, perSource: 1, reserve: 0))
    #expect(shares.limits(of: 4) == PlaceLimits(total: 4, perClient: 1, perSource: 3, reserve: 0))
    #expect(shares.limits(of: 0).total == 0)
  }

  @Test("whatever comes and goes, no share is exceeded and nothing is left behind")
  func model() throws {
    var random = SplitMix64(seed: 7)
    var places = SharedPlaces()
    var taken: [(holder: PlaceHolder, place: SharedPlaces.Place)] = []
    for _ in 0..<20_000 {
      if random.next() % 2 == 0, !taken.isEmpty {
        places.giveBack(taken.remove(at: Int(random.next() % UInt64(taken.count))).place)
      } else {
        let source = PlaceSource(address: UInt32(random.next() % 3))
        let holders: [PlaceHolder] = [
          .client("c\(random.next() % 4)", at: source), .nobody(at: source),
          .operator("o\(random.next() % 2)"), .operators(at: source),
        ]
        let holder = holders[Int(random.next() % 4)]
        if let place = try? places.take(holder, Self.limits) { taken.append((holder, place)) }
      }
      try check(taken.map(\.holder))
      try #require(places.taken == taken.count)
    }
    for item in taken { places.giveBack(item.place) }
    #expect(places.taken == 0)
    for number in 0..<8 {
      #expect(refusal(&places, .client("n\(number / 2)", at: nil)) == nil)
    }
  }

  private func check(_ holders: [PlaceHolder]) throws {
    var clients: [String: Int] = [:]
    var sources: [PlaceSource: Int] = [:]
    var common = 0
    for holder in holders {
      switch holder {
      case .client(let name, let source):
        clients[name, default: 0] += 1
        if let source { sources[source, default: 0] += 1 }
        common += 1
      case .nobody(let source):
        if let source { sources[source, default: 0] += 1 }
        common += 1
      case .operator, .operators: break
      }
    }
    try #require(holders.count <= 10 && common <= 8)
    try #require(clients.values.allSatisfy { $0 <= 2 } && sources.values.allSatisfy { $0 <= 5 })
  }
}

import RelayCore
import Testing

@Suite("Renewing a token")
struct TokenRenewalTests {
  private static let hour: Int64 = 3_600_000
  private static let start = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)

  private static func after(_ hours: Int64) -> WallTime {
    start.adding(milliseconds: hours * hour)
  }

  /// A token that was made at the start, and perhaps ends and may be renewed.
  private func token(endsAfter end: Int64?, until limit: Int64?) -> TokenRecord {
    TokenRecord(
      id: "t", grant: .client("till-1"), digest: [0], createdAt: Self.start,
      expiresAt: end.map(Self.after),
      renewal: limit.map {
        TokenRecord.Renewal(until: Self.after($0), spanMs: (end ?? 1) * Self.hour)
      })
  }

  @Test("is for as long as the token was made for, and goes no further than its limit")
  func spans() {
    let token = token(endsAfter: 24, until: 60)
    #expect(token.renewalVerdict(at: Self.start) == .renew(until: Self.after(24)))
    #expect(token.renewalVerdict(at: Self.after(20)) == .renew(until: Self.after(44)))
    // 23 hours later it would be past the limit.
    var late = token
    late.expiresAt = Self.after(50)
    #expect(late.renewalVerdict(at: Self.after(47)) == .renew(until: Self.after(60)))
  }

  @Test("is refused without leave, at the limit, and where the token does not end")
  func refused() {
    let hours = Self.after(1)
    #expect(token(endsAfter: 24, until: nil).renewalVerdict(at: hours) == .notAllowed)
    #expect(token(endsAfter: nil, until: nil).renewalVerdict(at: hours) == .endless)
    let limit = Self.after(24)
    #expect(token(endsAfter: 24, until: 24).renewalVerdict(at: hours) == .exhausted(limit))
    #expect(token(endsAfter: 24, until: 20).renewalVerdict(at: hours) == .exhausted(limit))
  }

  @Test("never has the token end sooner, be it that the clock was set back")
  func clock() {
    let token = token(endsAfter: 24, until: 60)
    #expect(token.renewalVerdict(at: Self.after(-100)) == .renew(until: Self.after(24)))
  }

  @Test("keeps who the token is for, and of its secrets the last two")
  func secrets() throws {
    let first = token(endsAfter: 24, until: 60)
    let second = first.renewed(
      until: Self.after(30), digest: [1], seed: [7], at: Self.after(6))
    let third = second.renewed(
      until: Self.after(36), digest: [2], seed: [8], at: Self.after(12))
    #expect([first, second, third].map(\.renewalCount) == [0, 1, 2])
    #expect(third.id == first.id && third.grant == first.grant)
    #expect(third.createdAt == first.createdAt && third.renewal?.until == Self.after(60))
    #expect(third.digest == [2] && third.expiresAt == Self.after(36))
    let last = try #require(third.renewal?.last)
    #expect(last.formerDigest == [1] && last.formerExpiresAt == Self.after(30))
    #expect(last.at == Self.after(12) && last.seed == [8])
  }

  @Test("is read from a row whole, or not at all")
  func rows() throws {
    func read(_ until: Int64?, _ spanMs: Int64?, _ number: Int64?, _ at: Int64? = 1) throws
      -> TokenRecord.Renewal?
    {
      try .stored(
        until: until, spanMs: spanMs, number: number, at: number.flatMap { _ in at },
        seed: number.map { _ in [7] }, formerDigest: number.map { _ in [8] },
        formerExpiresAt: number.map { _ in 9 },
        or: StoreError(kind: .corrupt, operation: "read", subject: "a row", detail: "it is torn"))
    }
    #expect(try read(nil, nil, nil) == nil)
    let fresh = try #require(try read(5, 2, nil))
    #expect(fresh.last == nil && fresh.spanMs == 2)
    let renewed = try #require(try read(5, 2, 3))
    #expect(renewed.last?.number == 3 && renewed.last?.formerDigest == [8])
    for (until, spanMs, number, at) in [
      (5, nil, nil, 1), (nil, 2, nil, 1), (nil, nil, 3, 1), (5, 2, 3, nil),
    ] as [(Int64?, Int64?, Int64?, Int64?)] {
      #expect(throws: StoreError.self) { try read(until, spanMs, number, at) }
    }
  }
}

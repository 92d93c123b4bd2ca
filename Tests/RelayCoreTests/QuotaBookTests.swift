import Testing

@testable import RelayCore

@Suite("The account of what waits")
struct QuotaBookTests {
  private let ann = ClientNumber(rawValue: 1)
  private let none = WaitingQuota()

  private func refusal(_ body: () throws(QuotaRefusal) -> Void) -> QuotaRefusal? {
    do throws(QuotaRefusal) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  @Test("posts that come in at one moment cannot pass a quota together")
  func together() throws {
    var book = QuotaBook()
    let quota = WaitingQuota(envelopesMax: 3)
    for _ in 0..<5 { book.begin("ann") }
    let one = WaitingUse(count: 1, bytes: 10)
    for _ in 0..<3 { try book.claim(one, of: "ann", nil, quota: quota, everybody: none) }
    let refused = refusal { () throws(QuotaRefusal) in
      try book.claim(one, of: "ann", nil, quota: quota, everybody: none)
    }
    #expect(refused?.limit == .waitingEnvelopes && refused?.isOfClient == true)
    book.release(one, of: "ann")
    try book.claim(one, of: "ann", nil, quota: quota, everybody: none)
  }

  @Test("a client that becomes known while its posts are on their way is counted all the same")
  func becomesKnown() throws {
    var book = QuotaBook()
    let quota = WaitingQuota(envelopesMax: 1)
    let one = WaitingUse(count: 1, bytes: 10)
    book.begin("ann")
    book.begin("ann")
    try book.claim(one, of: "ann", nil, quota: quota, everybody: none)
    // The second post has asked for the number before the first was stored.
    book.change(ann, by: one)
    book.note(ann, of: "ann")
    book.release(one, of: "ann")
    #expect(
      refusal { () throws(QuotaRefusal) in
        try book.claim(one, of: "ann", nil, quota: quota, everybody: none)
      }?.used == 1)
  }

  @Test("bytes are counted beside envelopes, of each client and of all")
  func bytes() throws {
    var book = QuotaBook()
    let own = WaitingQuota(bytesMax: 100)
    let all = WaitingQuota(bytesMax: 150)
    book.change(ann, by: WaitingUse(count: 2, bytes: 90))
    book.begin("ann")
    book.begin("ben")
    let twenty = WaitingUse(count: 1, bytes: 20)
    #expect(
      refusal { () throws(QuotaRefusal) in
        try book.claim(twenty, of: "ann", ann, quota: own, everybody: all)
      } == QuotaRefusal(limit: .waitingBytes, isOfClient: true, max: 100, used: 90))
    try book.claim(WaitingUse(count: 1, bytes: 60), of: "ben", nil, quota: own, everybody: all)
    #expect(
      refusal { () throws(QuotaRefusal) in try book.check(twenty, everybody: all) }
        == QuotaRefusal(limit: .waitingBytes, isOfClient: false, max: 150, used: 150))
    // What takes no room is never refused, however full it is.
    try book.claim(WaitingUse(bytes: -5), of: "ann", ann, quota: own, everybody: all)
  }

  @Test("nothing is left of clients of which nothing waits and nothing is on its way")
  func leavesNothing() throws {
    var book = QuotaBook()
    for number in 1...1000 {
      let client = ClientNumber(rawValue: Int64(number))
      let use = WaitingUse(count: 1, bytes: 5)
      book.begin("c\(number)")
      try book.claim(
        use, of: "c\(number)", nil, quota: WaitingQuota(envelopesMax: 5), everybody: none)
      book.change(client, by: use)
      book.note(client, of: "c\(number)")
      book.release(use, of: "c\(number)")
      book.change(client, by: WaitingUse(count: -1, bytes: -5))
    }
    #expect(book.clientCount == 0 && book.claimCount == 0 && book.total.isNothing)
  }

  @Test("what is said of a client's name counts before what is said of all clients")
  func settings() {
    var settings = QuotaSettings()
    let inherited = WaitingQuota(envelopesMax: 10, bytesMax: 1000)
    #expect(settings.waiting(or: inherited) == inherited)
    settings.waitingEnvelopesMax = .of(nil)
    settings.waitingBytesMax = .of(5)
    #expect(settings.waiting(or: inherited) == WaitingQuota(envelopesMax: nil, bytesMax: 5))
    #expect(settings.rate(orPerSecond: 4, burst: 9) == RateLimit(perSecond: 4, burst: 9))
    settings.requestsPerSecondMax = .of(2)
    #expect(settings.rate(orPerSecond: 4, burst: 9) == RateLimit(perSecond: 2, burst: 2))
    settings.requestsPerSecondMax = .of(nil)
    #expect(settings.rate(orPerSecond: 4, burst: 9) == nil)
  }
}

import RelayCore
import Testing

@Suite("History")
struct HistoryTests {
  private static let start = Minute(rawValue: 28_000_000)
  private static let a = UpstreamNumber(rawValue: 1)
  private static let b = UpstreamNumber(rawValue: 2)

  private func time(_ minute: Int64, _ second: Int64 = 0) -> WallTime {
    Self.start.adding(minute).begin.adding(milliseconds: second * 1000)
  }

  private func change(
    _ upstream: UpstreamNumber, _ change: Transition.Change, afterMs: Int64 = 0,
    isMoot: Bool = false
  ) -> Transition {
    var transition = Transition(
      serial: 1, lane: LaneNumber(rawValue: 1), upstream: upstream, change: change,
      at: time(0).adding(milliseconds: afterMs), acceptedAt: time(0), epoch: 1)
    transition.isMoot = isMoot
    return transition
  }

  private func delivered(_ upstream: UpstreamNumber, afterMs: Int64 = 0) -> Transition {
    change(upstream, .end(.delivered, reason: ""), afterMs: afterMs)
  }

  private func row(
    _ minute: Int64, _ upstream: UpstreamNumber = a, delivered: Int64 = 0, waiting: Int64 = 0,
    delaysMs: [Int64] = []
  ) -> HistoryRow {
    var figures = HistoryFigures()
    figures.delivered = delivered
    figures.waiting = waiting
    for delay in delaysMs { figures.delays.observe(delay) }
    return HistoryRow(HistoryPlace(Self.start.adding(minute), upstream), figures)
  }

  @Test("a minute's figures are whole once it is over, with what waits then")
  func whole() {
    var book = HistoryBook([Self.a, Self.b])
    book.count([delivered(Self.a, afterMs: 40), delivered(Self.a, afterMs: 50)], at: time(0, 5))
    book.count(
      [
        change(Self.a, .end(.failed, reason: "")), change(Self.a, .end(.expired, reason: "")),
        change(Self.a, .end(.failed, reason: ""), isMoot: true),
        change(Self.b, .retry(at: time(1))),
      ], at: time(0, 59))
    book.close(at: time(0, 59), waiting: ([Self.a: 3], 3))
    #expect(book.isRunning && book.takeWhole().isEmpty)
    book.close(at: time(1), waiting: ([Self.a: 3, Self.b: 9], 12))
    #expect(!book.isRunning)
    let rows = book.takeWhole()
    #expect(rows.map(\.place) == [HistoryPlace(Self.start, Self.a)])
    #expect(rows[0].figures.delivered == 2 && rows[0].figures.failed == 1)
    #expect(rows[0].figures.waiting == 3 && rows[0].figures.delays.sum == 90)
    #expect(book.takeWhole().isEmpty)
  }

  @Test("upstreams past the limit, and ones that are not configured, are counted together")
  func together() {
    let many = (1...150).map { UpstreamNumber(rawValue: $0) }
    var book = HistoryBook(many)
    book.count(many.map { delivered($0) } + [delivered(UpstreamNumber(rawValue: 999))], at: time(0))
    let each = Dictionary(uniqueKeysWithValues: many.map { ($0, 2) })
    book.close(at: time(1), waiting: (each, 310))
    let rows = book.takeWhole()
    #expect(rows.count == HistoryLimits.upstreamsMax + 1)
    let others = rows.first { $0.place.upstream == .others }?.figures
    #expect(others?.delivered == 51 && others?.waiting == 110)
    // Another configuration: where there is room, a new one is counted apart too.
    var grown = HistoryBook([Self.a])
    grown.add([Self.b])
    book.add([UpstreamNumber(rawValue: 999)])
    #expect(grown.number(of: Self.b) == Self.b)
    #expect(book.number(of: UpstreamNumber(rawValue: 999)) == .others)
  }

  @Test("a clock that is set makes no minute twice, and what a restart has to look at is noted")
  func clock() {
    var book = HistoryBook([Self.a])
    for minute: Int64 in [5, 6, 5, 3, 5] { book.count([delivered(Self.a)], at: time(minute)) }
    book.close(at: time(5, 30), waiting: ([:], 0))
    #expect(book.isRunning)
    book.close(at: time(5, 30), waiting: ([:], 0), isLast: true)
    let rows = book.takeWhole()
    #expect(rows.map(\.place.minute.rawValue) == [3, 5, 6].map { Self.start.rawValue + $0 })
    #expect(rows.map(\.figures.delivered) == [1, 3, 1])
    book.look(at: time(7))
    book.close(at: time(8), waiting: ([Self.a: 4], 4))
    #expect(Set(book.takeWhole().map(\.figures.waiting)) == [4, 0])
    #expect(Minute(of: WallTime(millisecondsSinceEpoch: -1)).rawValue == 0)
  }

  @Test("what could not be written is kept for an hour, and added to what comes later")
  func unwritten() {
    var book = HistoryBook([Self.a])
    for minute: Int64 in 0...100 {
      book.count([delivered(Self.a)], at: time(minute))
      book.close(at: time(minute + 1), waiting: ([Self.a: Int(minute)], Int(minute)))
      book.putBack(book.takeWhole())
    }
    #expect(book.takeWhole().count == Int(HistoryLimits.minutesUnwrittenMax))
    book.putBack([row(100, delivered: 1, waiting: 7)])
    book.count([delivered(Self.a)], at: time(100))
    book.close(at: time(101), waiting: ([Self.a: 8], 8))
    let figures = book.takeWhole().first?.figures
    #expect(figures?.delivered == 2 && figures?.waiting == 8)
  }

  @Test("where nothing happened as many wait as before, and the running step is left out")
  func series() {
    var series = HistorySeries(.hour, before: time(60, 20))
    #expect(series.points.count == 60 && series.points[0].at == time(0))
    #expect(series.points.allSatisfy { $0.waiting == nil && $0.accepted == 0 && $0.p50Ms == nil })
    for row in [
      row(-700, waiting: 5), row(2, delivered: 3, waiting: 2, delaysMs: [10, 10, 1000]),
      row(2, Self.b, waiting: 1), row(59, waiting: 0), row(60, waiting: 99, delaysMs: [1]),
    ] { series.add(row) }
    let points = series.points
    #expect(points.map(\.waiting) == [5, 5] + Array(repeating: 3, count: 57) + [1])
    #expect(points.map(\.delivered).reduce(0, +) == 3 && points[2].delivered == 3)
    #expect(points[2].p50Ms == 10 && points[2].p99Ms == 1000 && points[3].p50Ms == nil)
  }

  @Test("a day goes by steps of five minutes, and their percentiles are those of all deliveries")
  func day() {
    // 98 quick ones in one minute and 2 slow ones in the next: an average of the minutes' 99th
    // percentiles would be something else.
    let begin = Self.start.rawValue - Self.start.rawValue % 5
    let now = Minute(rawValue: begin).adding(8).begin
    var series = HistorySeries(.day, before: now)
    let quick = row(begin - Self.start.rawValue, delaysMs: Array(repeating: 5, count: 98))
    let slow = row(begin - Self.start.rawValue + 1, waiting: 6, delaysMs: [20_000, 20_000])
    for row in [slow, quick] { series.add(row) }
    let points = series.points
    #expect(points.count == 288)
    #expect(points.last?.at == Minute(rawValue: begin).begin)
    #expect(points.last?.p50Ms ?? 0 <= 5 && points.last?.p99Ms ?? 0 > 10_000)
    // Also where the rows come in another order.
    #expect(points.last?.waiting == 6)
  }

  @Test("posts are counted, also those that take a waiting envelope's place")
  func posts() {
    let draft = EnvelopeDraft(
      client: "c", lane: "l", upstream: "a",
      content: EnvelopeContent(
        method: "POST", target: [], headers: HeaderBlock(), body: .inline([])),
      expiresAt: time(9))
    func entry(_ serial: Serial, _ upstream: UpstreamNumber) -> LineEntry {
      LineEntry(
        serial: serial, client: ClientNumber(rawValue: 1), lane: LaneNumber(rawValue: 1),
        upstream: upstream, acceptedAt: time(0), expiresAt: time(9))
    }
    let id = EnvelopeID(serial: 1, acceptedAt: time(0), random: 0)
    var replaced = CoalescedEnvelope(
      entry: entry(3, Self.a), id: id, draft: draft, revision: 5, formerUpstream: Self.b,
      keepsBackoff: false)
    replaced.postCount = 2
    var commit = Commit()
    commit.changes = [
      .changed([change(Self.a, .end(.failed, reason: ""))]),
      .coalesced([replaced]),
      .accepted([
        AcceptedEnvelope(entry: entry(4, Self.a), id: id, draft: draft, revision: 1),
        AcceptedEnvelope(entry: entry(5, Self.a), id: id, movedFrom: 2),
      ]),
    ]
    #expect(commit.postCount == 4)
    var book = HistoryBook([Self.a, Self.b])
    book.count(commit, at: time(0))
    book.close(at: time(1), waiting: ([Self.a: 3, Self.b: 8], 11))
    let rows = book.takeWhole()
    // The one that it went to before has one less waiting.
    #expect(rows.map(\.place.upstream) == [Self.a, Self.b])
    #expect(rows.map(\.figures.accepted) == [4, 0] && rows.map(\.figures.failed) == [1, 0])
    #expect(rows.map(\.figures.waiting) == [3, 8])
  }

  @Test("a share of values is read off the buckets")
  func quantile() {
    var histogram = Histogram(.chartMilliseconds)
    #expect(histogram.quantile(0.5) == nil)
    histogram.observe(30)
    #expect(histogram.quantile(0.5) == 50 && histogram.quantile(1) == 50)
    for _ in 0..<3 { histogram.observe(30) }
    #expect(histogram.quantile(0) == 27 && histogram.quantile(0.5) == 35)
    histogram.observe(.max)
    #expect(histogram.quantile(1) == 604_800_000)
    #expect(Histogram(.chartMilliseconds, counts: [1], sum: 0) == nil)
    let copy = Histogram(.chartMilliseconds, counts: histogram.counts, sum: histogram.sum)
    #expect(histogram.sum < 0 || copy == histogram)
  }
}

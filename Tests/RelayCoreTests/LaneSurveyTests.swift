import Testing

@testable import RelayCore

@Suite("Surveys of all lanes")
struct LaneSurveyTests {
  private static let now = Now(
    wall: WallTime(millisecondsSinceEpoch: 1_800_000_000_000),
    monotonic: MonotonicTime(nanoseconds: 0))
  private static let configured = UpstreamNumber(rawValue: 1)
  private static let gone = UpstreamNumber(rawValue: 2)
  private var scheduler = Scheduler(
    upstreams: [configured: UpstreamPolicy()], epoch: 1, seed: 1, now: Self.now)

  /// An envelope comes into a lane of its client's own.
  private mutating func accept(
    _ serial: Serial, client: Int64, for upstream: UpstreamNumber, ageMs: Int64
  ) {
    let time = Self.now.wall.adding(milliseconds: -ageMs)
    _ = scheduler.accepted(
      LineEntry(
        serial: serial, client: ClientNumber(rawValue: client), lane: LaneNumber(rawValue: client),
        upstream: upstream, acceptedAt: time, expiresAt: time.adding(milliseconds: 1_000_000_000),
        standing: .held, onFailure: .skip, dueAt: nil),
      now: Self.now)
  }

  @Test("pieces of any size show the same as one look")
  mutating func pieces() {
    for client in 1...50 as ClosedRange<Int64> {
      for count in 0..<(client % 7 + 1) {
        accept(
          client * 10 + count, client: client, for: client % 3 == 0 ? Self.gone : Self.configured,
          ageMs: client * client % 101)
      }
    }
    let whole = scheduler.survey(piece: .max / 2, backlogsMax: 4)
    #expect(whole.backlogs.map(\.waiting) == [7, 7, 7, 7])
    #expect(
      whole.heads[Self.gone]?.waiting == (1...50).filter { $0 % 3 == 0 }.map { $0 % 7 + 1 }.sum)
    let oldest = (1...50).map { $0 * $0 % 101 }.max() ?? 0
    #expect(whole.oldestWaitingAt == Self.now.wall.adding(milliseconds: -Int64(oldest)))
    for piece in [1, 2, 7, 49, 50, 51] {
      let survey = scheduler.survey(piece: piece, backlogsMax: 4)
      #expect(survey.heads == whole.heads, "\(piece)")
      #expect(survey.backlogs.map(\.waiting) == whole.backlogs.map(\.waiting), "\(piece)")
    }
    #expect(scheduler.upstreamViews().keys.map(\.rawValue) == [1])
    #expect(scheduler.unconfiguredViews().keys.map(\.rawValue) == [2])
  }

  @Test(
    "a lane that stands all the while counts once, however many come and leave between two pieces")
  mutating func changing() throws {
    for client in 1...1500 as ClosedRange<Int64> {
      accept(client, client: client, for: Self.gone, ageMs: 5)
    }
    var survey = LaneSurvey(backlogsMax: 3)
    var coming: Int64 = 1501
    while !survey.isOver {
      scheduler.advance(&survey, countMax: 100)
      // Past 2,048 the table makes room, and what it holds moves.
      for _ in 0..<20 where coming <= 2500 {
        accept(coming, client: coming, for: Self.configured, ageMs: 1)
        coming += 1
      }
    }
    #expect(coming == 2501)
    #expect(survey.heads[Self.gone]?.waiting == 1500)
    #expect(survey.backlogs.count == 3)
  }

  @Test("a search in pieces finds the first lanes by number, and no lane twice")
  mutating func search() {
    for client in (1...40 as ClosedRange<Int64>).reversed() {
      accept(client, client: client, for: Self.configured, ageMs: 0)
    }
    var search = LaneSearch(.waiting, after: LaneNumber(rawValue: 4), countMax: 5)
    var pieceCount = 0
    while !search.isOver {
      scheduler.advance(&search, countMax: 7)
      pieceCount += 1
    }
    #expect(pieceCount == 6)
    #expect(search.found.map(\.rawValue) == [5, 6, 7, 8, 9])
  }
}

extension [Int] {
  fileprivate var sum: Int { reduce(0, +) }
}

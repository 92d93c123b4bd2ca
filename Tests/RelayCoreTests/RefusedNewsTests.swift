import RelayCore
import Testing

@Suite("Refused messages of what needs somebody")
struct RefusedNewsTests {
  private static let now = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)
  private let lane = LaneNumber(rawValue: 3)

  private func entry(_ serial: Serial, lane: LaneNumber) -> LineEntry {
    LineEntry(
      serial: serial, client: ClientNumber(rawValue: 2), lane: lane,
      upstream: UpstreamNumber(rawValue: 5), acceptedAt: Self.now, expiresAt: Self.now)
  }

  private func accepted(_ client: String, _ lane: LaneNumber, named name: String)
    -> AcceptedEnvelope
  {
    AcceptedEnvelope(
      entry: entry(1, lane: lane), id: EnvelopeID(serial: 1, acceptedAt: Self.now, random: 0),
      draft: EnvelopeDraft(
        client: client, lane: name, upstream: "alarm",
        content: EnvelopeContent(
          method: "POST", target: Array("/".utf8), headers: HeaderBlock(), body: .inline([])),
        expiresAt: Self.now))
  }

  private func transition(
    _ serial: Serial, _ change: Transition.Change, status: Int? = nil, lane: LaneNumber? = nil
  ) -> Transition {
    let attempt = status.map {
      AttemptRecord(
        number: 1, startedAt: Self.now, durationMs: 1, outcome: .refused, status: $0, error: nil)
    }
    return Transition(
      serial: serial, lane: lane ?? self.lane, upstream: UpstreamNumber(rawValue: 5),
      change: change, at: Self.now.adding(milliseconds: serial), attempt: attempt, epoch: 1)
  }

  private func refused(_ serial: Serial, lane: LaneNumber? = nil) -> Transition {
    transition(
      serial, .end(.failed, reason: "the upstream answered 404"), status: 404, lane: lane)
  }

  /// News whose lane is known.
  private func news() -> RefusedNews {
    var news = RefusedNews()
    news.accepted(accepted("waystation", lane, named: "needs"))
    return news
  }

  @Test("the first that is refused counts, and one that is taken settles all before it")
  func refusals() {
    var news = news()
    news.changed([refused(1)])
    #expect(news.deadLetters?.count == 1 && news.deadLetters?.status == 404)
    news.changed([refused(2)])
    let letters = news.deadLetters
    #expect(letters?.count == 2 && letters?.serial == 2)
    #expect(letters?.since == Self.now.adding(milliseconds: 1))
    news.changed([transition(3, .end(.delivered, reason: ""), status: 200)])
    #expect(news.deadLetters == nil)
  }

  private func changed(
    _ serial: Serial, _ state: EnvelopeState = .failed, lane: LaneNumber? = nil,
    endedAt: WallTime? = nil, result: EndChange.Result = .gone
  ) -> EndChange {
    EndChange(
      serial: serial, lane: lane ?? self.lane, upstream: UpstreamNumber(rawValue: 5), state: state,
      endedAt: endedAt ?? Self.now.adding(milliseconds: serial), isTried: true, result: result)
  }

  @Test("what is requeued, given up, discarded or deleted needs nobody any more")
  func settled() {
    var news = news()
    news.changed([refused(1), refused(2)])
    news.endsChanged([changed(1)])
    #expect(news.deadLetters?.count == 1)
    news.endsChanged([
      changed(2, lane: LaneNumber(rawValue: 4), result: .cancelled),
      changed(2, .expired, result: .cancelled),
    ])
    #expect(news.deadLetters?.count == 1)
    news.endsChanged([changed(2, result: .cancelled)])
    #expect(news.deadLetters == nil)
    news.changed([transition(4, .end(.failed, reason: "discarded"))])
    #expect(news.deadLetters == nil)
  }

  @Test("a dead letter from before the first that was counted takes none away")
  func earlier() {
    var news = news()
    news.changed([refused(5)])
    news.endsChanged([changed(1)])
    #expect(news.deadLetters?.count == 1)
  }

  @Test("envelopes of other lanes are none of them, whatever they are called")
  func others() {
    var news = RefusedNews()
    news.changed([refused(1)])
    news.accepted(accepted("waystation", LaneNumber(rawValue: 8), named: "other"))
    news.accepted(accepted("truck-7", LaneNumber(rawValue: 9), named: "needs"))
    #expect(news.laneNumber == nil)
    news.accepted(accepted("waystation", lane, named: "needs"))
    news.changed([refused(1, lane: LaneNumber(rawValue: 9))])
    #expect(news.laneNumber == lane && news.deadLetters == nil)
  }
}

/// What a look at all lanes and all clients shows, gathered in pieces.
///
/// There may be a million of each, and whoever looks at them keeps the scheduler from deciding. So
/// it is done by ``Scheduler/goOn(with:countMax:)`` for some of them at a time: a lane that stands
/// still meanwhile counts once, and one that moves on counts as it was before or after that.
package struct LaneSurvey: Sendable {
  /// The lanes whose heads go to one upstream.
  package struct Heads: Hashable, Sendable {
    /// How many envelopes stand in these lanes.
    package var waiting: Int
    /// When the oldest of the heads was accepted.
    package var oldestAcceptedAt: WallTime
  }

  /// By the upstream that the heads go to.
  package private(set) var heads: [UpstreamNumber: Heads] = [:]
  /// The clients with the most waiting envelopes, most first.
  package private(set) var backlogs: [(client: ClientNumber, waiting: Int)] = []
  /// Whether all has been looked at.
  package var isOver: Bool { laneWalk.isOver && clientWalk.isOver }

  fileprivate var laneWalk = NumberTable<LaneNumber, Lane>.Walk()
  fileprivate var clientWalk = NumberTable<ClientNumber, Int>.Walk()
  /// How many clients are among ``backlogs``.
  private let backlogsMax: Int

  /// Begins with nothing looked at.
  ///
  /// - Parameter backlogsMax: How many clients to find.
  package init(backlogsMax: Int) { self.backlogsMax = backlogsMax }

  /// When the oldest of all heads was accepted; nil if nothing waits.
  package var oldestWaitingAt: WallTime? { heads.values.lazy.map(\.oldestAcceptedAt).min() }

  fileprivate mutating func forgetLanes() { heads = [:] }

  fileprivate mutating func forgetClients() { backlogs = [] }

  /// Adds what a piece has shown.
  fileprivate mutating func add(_ more: Heads, of upstream: UpstreamNumber) {
    heads[upstream] =
      heads[upstream].map { known in
        Heads(
          waiting: known.waiting + more.waiting,
          oldestAcceptedAt: min(known.oldestAcceptedAt, more.oldestAcceptedAt))
      } ?? more
  }

  fileprivate mutating func take(_ client: ClientNumber, _ waiting: Int) {
    if backlogs.count == backlogsMax {
      guard let last = backlogs.last, waiting > last.waiting else { return }
    }
    let place = backlogs.firstIndex { $0.waiting < waiting } ?? backlogs.count
    backlogs.insert((client, waiting), at: place)
    if backlogs.count > backlogsMax { backlogs.removeLast() }
  }
}

extension Scheduler {
  /// Goes on with a survey that is not over: looks at some more lanes, or at some more clients.
  package func goOn(with survey: inout LaneSurvey, countMax: Int) {
    if survey.laneWalk.isOver {
      goOnWithClients(&survey, countMax)
    } else {
      goOnWithLanes(&survey, countMax)
    }
  }

  private func goOnWithLanes(_ survey: inout LaneSurvey, _ countMax: Int) {
    var walk = survey.laneWalk
    // Most lanes go where the one before went: one look-up for all of them in a row.
    var row: (upstream: UpstreamNumber, heads: LaneSurvey.Heads)?
    lanes.goOn(&walk, countMax: countMax) {
      survey.forgetLanes()
    } _: { _, lane in
      guard let head = lane.head else { return }
      if row?.upstream == head.upstream {
        row?.heads.waiting += lane.waiting
        if let known = row?.heads.oldestAcceptedAt, head.acceptedAt < known {
          row?.heads.oldestAcceptedAt = head.acceptedAt
        }
      } else {
        if let row { survey.add(row.heads, of: row.upstream) }
        row = (
          head.upstream,
          LaneSurvey.Heads(waiting: lane.waiting, oldestAcceptedAt: head.acceptedAt)
        )
      }
    }
    if let row { survey.add(row.heads, of: row.upstream) }
    survey.laneWalk = walk
  }

  private func goOnWithClients(_ survey: inout LaneSurvey, _ countMax: Int) {
    var walk = survey.clientWalk
    clientsWaiting.goOn(&walk, countMax: countMax) {
      survey.forgetClients()
    } _: { client, waiting in
      survey.take(client, waiting)
    }
    survey.clientWalk = walk
  }
}

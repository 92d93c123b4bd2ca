/// A survey of all lanes and all clients, made in pieces.
///
/// There may be a million of each, and a look at all of them would keep the scheduler from
/// deciding. So ``Scheduler/advance(_:countMax:)`` looks at some of them at a time. A lane that
/// stands still meanwhile counts once; one that moves on counts as it was before or after that.
package struct LaneSurvey: Sendable {
  /// The lanes whose heads go to one upstream.
  package struct Heads: Hashable, Sendable {
    /// The number of envelopes that wait in these lanes.
    package var waiting: Int
    /// The time at which the oldest of the heads was accepted.
    package var oldestAcceptedAt: WallTime
  }

  /// The lanes, by the upstream that their heads go to.
  package private(set) var heads: [UpstreamNumber: Heads] = [:]
  /// The lanes in which envelopes wait for sequence numbers, by the acceptance of the oldest of
  /// these.
  package private(set) var parkedLanes = TimeTally()
  /// The clients with the most waiting envelopes, most first.
  package private(set) var backlogs: [(client: ClientNumber, waiting: Int)] = []
  /// Whether all lanes and clients have been looked at.
  package var isOver: Bool { laneWalk.isOver && clientWalk.isOver }

  fileprivate var laneWalk = NumberTable<LaneNumber, Lane>.Walk()
  fileprivate var clientWalk = NumberTable<ClientNumber, Int>.Walk()
  /// The most clients in ``backlogs``.
  private let backlogsMax: Int

  /// Begins with nothing looked at.
  ///
  /// - Parameter backlogsMax: The number of clients to find.
  package init(backlogsMax: Int) { self.backlogsMax = backlogsMax }

  /// The time at which the oldest of all heads was accepted; nil if nothing waits.
  package var oldestWaitingAt: WallTime? { heads.values.lazy.map(\.oldestAcceptedAt).min() }

  fileprivate mutating func forgetLanes() {
    heads = [:]
    parkedLanes = TimeTally()
  }

  fileprivate mutating func addParked(_ lanes: TimeTally) { parkedLanes.add(lanes) }

  fileprivate mutating func forgetClients() { backlogs = [] }

  /// Adds the heads of one piece.
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
  /// Continues a survey that is not over: looks at some more lanes, or at some more clients.
  package func advance(_ survey: inout LaneSurvey, countMax: Int) {
    if survey.laneWalk.isOver {
      advanceThroughClients(&survey, countMax)
    } else {
      advanceThroughLanes(&survey, countMax)
    }
  }

  private func advanceThroughLanes(_ survey: inout LaneSurvey, _ countMax: Int) {
    var walk = survey.laneWalk
    // Most lanes go where the one before goes, so one look-up serves a row of them.
    var row: (upstream: UpstreamNumber, heads: LaneSurvey.Heads)?
    var parked = TimeTally()
    lanes.advance(&walk, countMax: countMax) {
      survey.forgetLanes()
      parked = TimeTally()
    } _: { number, lane in
      if lane.parked > 0, let since = parkedTimes[number]?.earliest { parked.insert(since) }
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
    survey.addParked(parked)
    survey.laneWalk = walk
  }

  private func advanceThroughClients(_ survey: inout LaneSurvey, _ countMax: Int) {
    var walk = survey.clientWalk
    clientsWaiting.advance(&walk, countMax: countMax) {
      survey.forgetClients()
    } _: { client, waiting in
      survey.take(client, waiting)
    }
    survey.clientWalk = walk
  }
}

// Taking up the line at a start. The windows are filled from it; what stands behind them is only
// counted, lane by lane, which takes a fraction of the time.

extension Scheduler {
  /// Takes up a page of the line, before anything of it is accepted or attempted.
  ///
  /// - Parameter latest: The lanes on this page whose order is ``LaneOrder/latest``.
  package mutating func restore(_ page: LinePage, latest: Set<LaneNumber> = []) {
    for entry in page.entries where decides(for: entry.client) {
      let isLatest = latest.contains(entry.lane)
      if entry.standing == .parked {
        admitParked(entry, order: isLatest ? .latest : .strict)
      } else if isLatest {
        restoreNewest(entry)
      } else {
        _ = admit(entry, order: .strict)
      }
    }
  }

  /// Whether the windows are full, so that the rest of the line is only to be counted, by
  /// ``headsWanted(of:latest:)`` and ``restore(_:heads:latest:)``.
  package var areWindowsFull: Bool { !hasRoom }

  /// The entries of the rest of the line that have to be read so that every lane has its head.
  ///
  /// - Parameters:
  ///   - rest: Everything behind the pages that were handed over.
  ///   - latest: The lanes in it whose order is ``LaneOrder/latest``.
  package func headsWanted(of rest: LineSummary, latest: Set<LaneNumber> = []) -> [Serial] {
    rest.shares.flatMap { share -> [Serial] in
      let head = lanes[share.lane]?.head
      guard latest.contains(share.lane) else {
        return head == nil ? [share.first].compactMap(\.self) : []
      }
      let blocked = head?.standing == .blocked ? nil : share.blocked
      return [blocked == share.last ? nil : blocked, share.last].compactMap(\.self)
    }
  }

  /// Takes up the rest of the line, counted.
  ///
  /// A lane whose head is not among `heads` is filled by a walk along the line.
  ///
  /// - Parameters:
  ///   - rest: Everything behind the pages that were handed over; of one shard, unless the
  ///     scheduler holds all.
  ///   - heads: The entries that ``headsWanted(of:latest:)`` asked for.
  ///   - latest: The lanes in it whose order is ``LaneOrder/latest``.
  package mutating func restore(
    _ rest: LineSummary, heads: [LineEntry], latest: Set<LaneNumber> = []
  ) {
    let heads = Dictionary(heads.lazy.map { ($0.serial, $0) }) { first, _ in first }
    let shares = rest.shares
    for share in shares {
      let order: LaneOrder = latest.contains(share.lane) ? .latest : .strict
      var grownBy = 0
      lanes.change(
        share.lane,
        orFirst: Lane(
          client: share.client, order: order, seenThrough: order.rank(of: share.least) - 1)
      ) { grownBy = $0?.restore(share, heads: heads) ?? 0 }
      windowEntries += grownBy
      if share.parked > 0 { noteParked(in: share.lane) { $0.add(share.parkedTimes) } }
      clientsWaiting[share.client, default: 0] += share.count + share.parked
      waitingTotal += share.count + share.parked
    }
    guard let client = shares.first?.client else { return }
    for (upstream, count) in rest.waitingFor { countWaiting(count, for: upstream, of: client) }
  }

  /// Starts the lanes, after the last page of the line was handed to ``restore(_:latest:)``, or the
  /// rest of it to ``restore(_:heads:latest:)``.
  ///
  /// Lanes whose heads have waited longest come first. Lanes into which something was accepted
  /// meanwhile are running already.
  ///
  /// - Parameters:
  ///   - wasClockSetBack: Whether waits may have been stored by a clock that has been set back
  ///     since.
  ///   - setsOff: Whether attempts may begin at once, or with ``setOff(now:)``.
  package mutating func restored(
    now: Now, wasClockSetBack: Bool = false, setsOff: Bool = true
  ) {
    isSetOff = setsOff
    startLanes(now: now, wasClockSetBack: wasClockSetBack) { _ in true }
  }

  /// Lets attempts begin, after ``restored(now:wasClockSetBack:setsOff:)`` has held them back.
  package mutating func setOff(now: Now) {
    isSetOff = true
    for number in upstreams.keys.sorted() { fillSlots(of: number, now: now) }
  }

  /// Starts those of some lanes that do not run.
  mutating func startLanes(
    now: Now, wasClockSetBack: Bool, where isToStart: (ClientNumber) -> Bool
  ) {
    boundRestoredBackoffs(now: now)
    isClockSuspect = isClockSuspect || wasClockSetBack
    let heads = lanes.compactMap { number, lane -> (LaneNumber, Serial)? in
      guard lane.isEmptyHanded, isToStart(lane.client) else { return nil }
      if let head = lane.head { return (number, head.serial) }
      return lane.isWhole ? nil : (number, .max)
    }
    for (number, _) in heads.sorted(by: { $0.1 < $1.1 }) { settleHead(of: number, now: now) }
  }
}

extension Lane {
  /// Takes up a counted share, which stands behind everything that the lane was told of.
  ///
  /// - Parameter heads: Entries by their numbers: this lane's head among them, if it has none yet
  ///   or takes the newest first.
  /// - Returns: The number of entries by which the window has grown.
  fileprivate mutating func restore(
    _ share: LineSummary.LaneShare, heads: [Serial: LineEntry]
  ) -> Int {
    let countBefore = window.count
    let stoodInLine = waiting > parked
    waiting += share.count + share.parked
    parked += share.parked
    guard let first = share.first, let last = share.last else {
      if !stoodInLine { phase = .parked }
      return 0
    }
    switch order {
    case .strict:
      if window.isEmpty {
        if let head = heads[first] { window.append(head) }
        seenThrough = window.isEmpty ? first - 1 : first
      }
      lastRank = max(lastRank, last)
    case .latest:
      // Everything seen so far is older, and so behind all this; but an envelope that blocks the
      // lane stays.
      let blocked = head?.standing == .blocked ? head : share.blocked.flatMap { heads[$0] }
      let newest = heads[last]
      window = Deque()
      if let blocked { window.append(blocked) }
      if let newest, newest.serial != blocked?.serial { window.append(newest) }
      seenThrough = order.rank(of: last) - (newest == nil ? 1 : 0)
      let oldest = order.rank(of: first)
      lastRank = stoodInLine ? max(lastRank, oldest) : oldest
      backoffs.merge(share.backoffs) { max($0, $1) }
    }
    return window.count - countBefore
  }
}

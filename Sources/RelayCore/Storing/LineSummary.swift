/// A stretch of the line, counted by lanes: everything that a start has to know of the line behind
/// the windows.
package struct LineSummary: Sendable {
  /// One place of the line, with the parts that are counted.
  package struct Place: Sendable {
    /// The envelope's number.
    package var serial: Serial
    /// The lane that it stands in.
    package var lane: LaneNumber
    /// The upstream that it goes to.
    package var upstream: UpstreamNumber
    /// The time when it ends as `expired`.
    package var expiresAt: WallTime
    /// Whether it may be attempted at all.
    package var standing: Standing
    /// The size of its body, headers and target in bytes.
    package var bytes: Int64
    /// The end of its wait after an attempt; nil if it was not attempted.
    package var backoff: WallTime?

    /// Describes a place; see the properties for what each part means.
    package init(
      serial: Serial, lane: LaneNumber, upstream: UpstreamNumber, expiresAt: WallTime,
      standing: Standing, bytes: Int64, backoff: WallTime? = nil
    ) {
      self.serial = serial
      self.lane = lane
      self.upstream = upstream
      self.expiresAt = expiresAt
      self.standing = standing
      self.bytes = bytes
      self.backoff = backoff
    }
  }

  /// What stands in one lane for one upstream, parked envelopes left out, where the store itself
  /// counts.
  package struct Group: Sendable {
    /// The lane.
    package var lane: LaneNumber
    /// The client that the lane belongs to.
    package var client: ClientNumber
    /// The upstream.
    package var upstream: UpstreamNumber
    /// The number of envelopes, at least 1.
    package var count: Int
    /// The first of them in order of acceptance.
    package var first: Serial
    /// The last of them.
    package var last: Serial
    /// The first one that blocks the lane.
    package var blocked: Serial?
    /// The size of all their bodies, headers and targets in bytes.
    package var bytes: Int64
    /// The longest wait among those that were attempted, but for those that block.
    package var backoff: WallTime?
    /// The earliest time when one of them ends as `expired`.
    package var expiresAt: WallTime

    /// Describes a group; see the properties for what each part means.
    package init(
      lane: LaneNumber, client: ClientNumber, upstream: UpstreamNumber, count: Int, first: Serial,
      last: Serial, blocked: Serial?, bytes: Int64, backoff: WallTime?, expiresAt: WallTime
    ) {
      self.lane = lane
      self.client = client
      self.upstream = upstream
      self.count = count
      self.first = first
      self.last = last
      self.blocked = blocked
      self.bytes = bytes
      self.backoff = backoff
      self.expiresAt = expiresAt
    }
  }

  /// The part of one lane.
  package struct LaneShare: Sendable, Equatable {
    /// The lane.
    package let lane: LaneNumber
    /// The client that the lane belongs to.
    package let client: ClientNumber
    /// The least number, parked envelopes included.
    package fileprivate(set) var least: Serial
    /// The number of envelopes in line, without parked ones.
    package fileprivate(set) var count = 0
    /// The first of them in order of acceptance; nil if there are none.
    package fileprivate(set) var first: Serial?
    /// The last of them.
    package fileprivate(set) var last: Serial?
    /// The first one that blocks the lane.
    package fileprivate(set) var blocked: Serial?
    /// The number of parked envelopes.
    package fileprivate(set) var parked = 0
    /// The times of their acceptance, counted.
    package fileprivate(set) var parkedTimes = TimeTally()
    /// The time of acceptance of the earliest parked envelope.
    package var parkedSince: WallTime? { parkedTimes.earliest }
    /// The size of all their bodies, headers and targets in bytes.
    package fileprivate(set) var bytes: Int64 = 0
    /// The longest wait for each upstream among the envelopes that were attempted.
    package fileprivate(set) var backoffs: [UpstreamNumber: WallTime] = [:]
  }

  /// The parts by lane.
  private var lanes = NumberTable<LaneNumber, LaneShare>()
  /// The earliest deadline of all; nil if nothing waits.
  package private(set) var earliestDeadline: WallTime?
  private var counts: [UpstreamNumber: Int] = [:]
  /// The upstream of the last place, and the number of places in a row that go there: most go where
  /// the one before went, which saves a look-up.
  private var streak: (upstream: UpstreamNumber, count: Int)?

  /// Makes an empty summary.
  package init() {}

  /// The parts by lane, in no particular order.
  package var shares: [LaneShare] { Array(lanes.values) }

  /// The number of waiting envelopes for each upstream.
  package var waitingFor: [UpstreamNumber: Int] {
    var counts = counts
    if let streak { counts[streak.upstream, default: 0] += streak.count }
    return counts
  }

  /// The number of waiting envelopes, parked ones included.
  package var waitingCount: Int { lanes.values.reduce(0) { $0 + $1.count + $1.parked } }

  /// The amount of each client that waits.
  package var use: [ClientNumber: WaitingUse] {
    var use: [ClientNumber: WaitingUse] = [:]
    for share in lanes.values {
      use[share.client, default: WaitingUse()] += WaitingUse(
        count: share.count + share.parked, bytes: share.bytes)
    }
    return use
  }

  /// Counts a place; places may come in any order.
  ///
  /// - Parameters:
  ///   - client: The lane's client; evaluated once for each lane.
  ///   - acceptedAt: The time of acceptance; evaluated only for a parked envelope.
  package mutating func count(
    _ place: Place, of client: @autoclosure () -> ClientNumber,
    acceptedAt: @autoclosure () -> WallTime
  ) {
    if streak?.upstream == place.upstream {
      streak?.count += 1
    } else {
      counts = waitingFor
      streak = (place.upstream, 1)
    }
    earliestDeadline = min(earliestDeadline ?? place.expiresAt, place.expiresAt)
    lanes.change(
      place.lane, orFirst: LaneShare(lane: place.lane, client: client(), least: place.serial)
    ) { $0?.count(place, acceptedAt: acceptedAt()) }
  }

  /// Adds a group; groups may come in any order.
  package mutating func add(_ group: Group) {
    counts[group.upstream, default: 0] += group.count
    earliestDeadline = min(earliestDeadline ?? group.expiresAt, group.expiresAt)
    let fresh = LaneShare(lane: group.lane, client: group.client, least: group.first)
    var share = fresh
    (share.count, share.bytes) = (group.count, group.bytes)
    (share.first, share.last, share.blocked) = (group.first, group.last, group.blocked)
    if let backoff = group.backoff { share.backoffs = [group.upstream: backoff] }
    lanes.change(group.lane, orFirst: fresh) { $0?.add(share) }
  }

  /// Adds the counts of another stretch.
  package mutating func add(_ other: LineSummary) {
    for (upstream, count) in other.waitingFor { counts[upstream, default: 0] += count }
    if let deadline = other.earliestDeadline {
      earliestDeadline = min(earliestDeadline ?? deadline, deadline)
    }
    for (lane, share) in other.lanes {
      let fresh = LaneShare(lane: lane, client: share.client, least: share.least)
      lanes.change(lane, orFirst: fresh) { $0?.add(share) }
    }
  }
}

extension LineSummary.LaneShare {
  fileprivate mutating func count(
    _ place: LineSummary.Place, acceptedAt: @autoclosure () -> WallTime
  ) {
    least = min(least, place.serial)
    bytes += place.bytes
    guard place.standing != .parked else {
      parked += 1
      parkedTimes.insert(acceptedAt())
      return
    }
    if let backoff = place.backoff, place.standing != .blocked {
      note(backoff, of: place.upstream)
    }
    count += 1
    first = min(first ?? place.serial, place.serial)
    last = max(last ?? place.serial, place.serial)
    if place.standing == .blocked { blocked = min(blocked ?? place.serial, place.serial) }
  }

  fileprivate mutating func add(_ other: Self) {
    least = min(least, other.least)
    count += other.count
    first = Self.least(first, other.first)
    last = [last, other.last].lazy.compactMap(\.self).max()
    blocked = Self.least(blocked, other.blocked)
    parked += other.parked
    parkedTimes.add(other.parkedTimes)
    bytes += other.bytes
    for (upstream, backoff) in other.backoffs { note(backoff, of: upstream) }
  }

  private mutating func note(_ backoff: WallTime, of upstream: UpstreamNumber) {
    backoffs[upstream] = max(backoffs[upstream] ?? backoff, backoff)
  }

  private static func least<Value: Comparable>(_ one: Value?, _ other: Value?) -> Value? {
    guard let one, let other else { return one ?? other }
    return min(one, other)
  }
}

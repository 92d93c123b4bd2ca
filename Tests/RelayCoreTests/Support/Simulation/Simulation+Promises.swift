@testable import RelayCore
@testable import StoreModel

// The promises, checked as the run goes on.
extension Simulation {
  mutating func violate(_ sentence: String) {
    violations.append("\(sentence) (seed \(seed), event \(eventCount))")
  }

  /// Promise 2: an envelope is first attempted only when every earlier one of its lane has ended.
  ///
  /// And one envelope is never attempted twice at once.
  mutating func checkOrder(of entry: LineEntry) {
    if reserved.contains(entry.serial) { violate("\(entry.serial) was attempted while reserved") }
    if clearing.contains(entry.client) { violate("\(entry.serial) was attempted while cleared") }
    guard let place = store.place(of: entry.serial) else {
      return violate("\(entry.serial) was attempted after its end")
    }
    if inFlight.contains(entry.serial) { violate("\(entry.serial) was attempted twice at once") }
    if place.attempts != entry.attempts {
      violate("\(entry.serial) forgot its attempts: \(entry.attempts)")
    }
    if let dueAt = place.dueAt, dueAt > clock.wall, place.attempts == 0,
      !wasClockSetBack
    {
      violate("\(entry.serial) was attempted before its time")
    }
    let stops: [PauseTarget] = [
      .upstream(entry.upstream), .client(entry.client), .lane(entry.lane),
    ]
    if let stop = stops.first(where: store.pauses.contains) {
      violate("\(entry.serial) was attempted in spite of a pause of \(stop)")
    }
    // What is announced before it is sent is under way from then on.
    if scheduler.upstreams[entry.upstream]?.policy.ambiguity == .retry,
      !scheduler.isConfigured(entry.upstream)
    {
      violate("\(entry.serial) was attempted though its upstream is not configured")
    }
    checkNumbers(of: entry)
    checkPatience(of: entry)
  }

  /// Promise 2, when an attempt begins: in a lane of the order `latest` a newer envelope may come
  /// in between that an attempt is announced and its beginning.
  mutating func checkIsFirst(_ entry: LineEntry) {
    checkNumberIsFirst(entry)
    let isInLane = { (other: LineEntry) in
      other.lane == entry.lane && other.standing != .parked
    }
    // An attempt may be decided on before a commit is told, or in the middle of it.
    let isToldLater = { [told] (other: LineEntry) in
      other.serial > entry.serial && told.contains(other.serial)
    }
    let first =
      switch order(of: entry.lane) {
      case .strict: store.line.first(where: isInLane)
      case .latest: store.line.last { isInLane($0) && !isToldLater($0) }
      }
    if let first = first?.serial, first != entry.serial {
      violate("\(entry.serial) was attempted while \(first) of its lane still waited")
    }
  }

  /// Promise 6, and "a free slot is filled at once": while an upstream has a free slot, none of
  /// the lanes that could use it waits.
  mutating func checkNoSlotIsIdle() {
    var free: Set<UpstreamNumber> = []
    for (number, line) in scheduler.upstreams
    where line.hasFreeSlot(now: clock.monotonic) && line.reachability.isReachable
      && !store.pauses.contains(.upstream(number))
      && !line.linger.isUnderWay
      // The timer for it may ring at this very moment, after what is looked at here.
      && line.pace.opensAt.adding(milliseconds: 1) <= clock.monotonic
    { free.insert(number) }
    var idle: [LaneNumber] = []
    if !free.isEmpty {
      // Looked at where they lie: this is done after every event, and to copy lanes takes time.
      scheduler.lanes.forEachValue { number, lane in
        if lane.phase == .ready, let upstream = lane.head?.upstream, free.contains(upstream) {
          idle.append(number)
        }
      }
    }
    for lane in idle { violate("lane \(lane.rawValue) waits though a slot is free") }
    for line in scheduler.upstreams.values where line.inFlight > line.policy.concurrencyMax {
      violate("more attempts in flight than the upstream allows")
    }
    if scheduler.windowEntries > 40 + 2 * scheduler.lanes.count {
      violate("windows hold \(scheduler.windowEntries) envelopes: more than their limit")
    }
  }

  /// What is shown as waiting is what waits.
  mutating func checkCounts() {
    var waiting: [LaneNumber: Int] = [:]
    var parked: [LaneNumber: Int] = [:]
    for entry in store.line {
      waiting[entry.lane, default: 0] += 1
      if entry.standing == .parked { parked[entry.lane, default: 0] += 1 }
    }
    for (number, lane) in scheduler.lanes where lane.parked != parked[number] ?? 0 {
      violate("lane \(number.rawValue) counts \(lane.parked) parked, not \(parked[number] ?? 0)")
    }
    checkParkedTimes()
    for (number, lane) in scheduler.lanes where lane.waiting != waiting[number] ?? 0 {
      violate(
        "lane \(number.rawValue) counts \(lane.waiting), and \(waiting[number] ?? 0) wait in it")
    }
    let counted = scheduler.waitingFor.values.reduce(0, +)
    // To ask `holds` for each entry would copy the whole simulation each time.
    let shards = heldShards
    let held = store.line.count { shards.contains(Self.shard(of: $0.client)) }
    if counted != held {
      violate("upstreams count \(counted), and \(held) wait")
    }
    let shown = scheduler.lanes.values.reduce(0) { $0 + $1.window.count }
    if shown != scheduler.windowEntries {
      violate("windows hold \(shown) and are said to hold \(scheduler.windowEntries)")
    }
  }

  /// Since when a lane waits for numbers is known of those that do, and of no others.
  private mutating func checkParkedTimes() {
    for (number, times) in scheduler.parkedTimes {
      let parked = store.line.filter { $0.lane == number && $0.standing == .parked }
      let (earliest, told) = (parked.map(\.acceptedAt).min(), times.earliest)
      if times.count != scheduler.lanes[number]?.parked {
        violate("lane \(number.rawValue) knows times of \(times.count) parked")
      }
      if let earliest, let told, told <= earliest { continue }
      violate("lane \(number.rawValue) waits since \(String(describing: earliest)), is said")
    }
    for (number, lane) in scheduler.lanes
    where lane.parked > 0 && scheduler.parkedTimes[number] == nil {
      violate("lane \(number.rawValue) does not know since when it waits")
    }
  }

  /// Promises 1, 3, 4 and 5, once the faults have ended and everything has run out.
  mutating func checkEnd() {
    guard violations.isEmpty else { return }
    if let first = store.line.first {
      let phase = scheduler.lane(first.lane)?.phase
      violate(
        "\(store.line.count) envelopes never ended; \(first.serial) is \(String(describing: phase))"
      )
    }
    checkAcknowledged()
    for serial in store.ended {
      if let envelope = store.envelopes[serial] { checkEnd(of: envelope) }
    }
    if scheduler.batches.isInUse {
      violate("batches are remembered with nothing waiting: \(scheduler.batches)")
    }
    if scheduler.waitingCount != 0 { violate("\(scheduler.waitingCount) are said to wait") }
    if !scheduler.changingParked.isEmpty { violate("changes of parked ones never arrived") }
    if scheduler.changingCount != 0 { violate("ends are said to be on their way to the disk") }
    if !scheduler.reserved.isEmpty || !scheduler.clearing.isEmpty || !scheduler.heldBack.isEmpty {
      violate("something is said to be reserved after all was replaced")
    }
    if !scheduler.clientsWaiting.isEmpty {
      violate("clients are said to wait with nothing waiting")
    }
    if scheduler.waitingFor.values.contains(where: { $0 != 0 })
      || scheduler.upstreams.values.contains(where: { $0.inFlight != 0 })
    {
      violate("upstreams are said to have envelopes waiting with nothing waiting")
    }
  }
  /// What has ended has a reason, and was delivered if it says so.
  mutating func checkEnd(of envelope: ModelTables.Envelope) {
    let serial = envelope.entry.serial
    guard let end = envelope.end else { return violate("\(serial) was deleted before its end") }
    if end.reason == nil { violate("\(serial) ended without a reason") }
    guard end.state == .delivered else { return }
    let upstream = upstreams[Self.index(envelope.entry.upstream)]
    if upstream.arrivals[serial] ?? 0 == 0 { violate("\(serial) was never delivered") }
    if upstream.latest[serial] != Self.number(in: envelope.draft.content) {
      violate("the latest content of \(serial) is not what arrived last")
    }
  }
}

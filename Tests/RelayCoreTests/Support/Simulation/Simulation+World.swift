import RelayCore

/// A device that posts again, under the same key, what it saw no answer to.
struct SimulatedDevice {
  let number: Int
  var nextKey = 1
  /// Keys that were posted and not answered yet.
  var unanswered: [Int] = []
  /// What was acknowledged: key to the envelope's number.
  var acknowledged: [Int: Serial] = [:]
  /// The sequence numbers of what was posted, by key; empty for a device that sends none.
  var numbers: [Int: Int64] = [:]
  /// The last sequence number of each lane.
  var lastNumber: [Int: Int64] = [:]

  init(number: Int) { self.number = number }
}

// What happens around the relay: devices post, upstreams change their mood, the plug is pulled.
extension Simulation {
  mutating func post(_ index: Int) {
    guard !isFaultFree else { return }
    let key: Int
    if let forgotten = devices[index].unanswered.randomElement(using: &random),
      Int.random(in: 0..<3, using: &random) == 0
    {
      key = forgotten
    } else {
      key = devices[index].nextKey
      devices[index].nextKey += 1
      devices[index].unanswered.append(key)
      number(key, of: index)
    }
    let isLost = devices[index].numbers[key] != nil && Int.random(in: 0..<6, using: &random) == 0
    if !isLost {
      agenda.insert(
        Scheduled(
          life: life,
          event: .commitAppend(device: index, key: key, content: Self.content(of: key, index))),
        at: commitTime())
    }
    let isFlood = index == 0
    schedule(.post(device: index), inMs: isFlood ? 60 : Int64.random(in: 50...2000, using: &random))
  }

  private static func content(of key: Int, _ device: Int) -> Int { device * 1_000_003 + key }

  private static func lane(of content: Int, _ device: Int) -> Int {
    device * 2 + (content % 3 == 0 ? 1 : 0)
  }

  /// Every fourth device numbers what it posts, lane by lane.
  ///
  /// A lane of the newest takes no numbers.
  private mutating func number(_ key: Int, of index: Int) {
    let lane = Self.lane(of: Self.content(of: key, index), index)
    guard index % 4 == 1, Self.order(of: LaneNumber(rawValue: Int64(lane))) == .strict else {
      return
    }
    let number = (devices[index].lastNumber[lane] ?? 0) + 1
    devices[index].lastNumber[lane] = number
    devices[index].numbers[key] = number
  }

  /// Commits happen one after the other, in the order in which they were asked for.
  mutating func commitTime() -> MonotonicTime {
    let soonest = clock.monotonic.adding(milliseconds: Int64.random(in: 0...8, using: &random))
    lastCommitAt = max(soonest, MonotonicTime(nanoseconds: lastCommitAt.nanoseconds + 1))
    return lastCommitAt
  }

  /// The commit of an append: from here on the device may be told, and usually is.
  mutating func append(_ index: Int, _ key: Int, _ content: Int) {
    let lane = Self.lane(of: content, index)
    let isShortLived = content % 11 == 0
    let entry = LineEntry(
      serial: 0, client: ClientNumber(rawValue: Int64(index)),
      lane: LaneNumber(rawValue: Int64(lane)),
      upstream: UpstreamNumber(rawValue: Int32(lane % Self.upstreamCount)),
      acceptedAt: clock.wall,
      expiresAt: clock.wall.adding(milliseconds: isShortLived ? 5_000 : 604_800_000),
      standing: content % 41 == 0 ? .held : .queued,
      onFailure: index % 8 == 7 ? .block : .skip,
      dueAt: content % 29 == 0 ? clock.wall.adding(milliseconds: 1500) : nil)
    let number = devices[index].numbers[key]
    let name = index % 3 == 1 && content % 4 != 0 && number == nil ? content % 2 : nil
    if let name, coalesce(entry, name, device: index, key: key, content: content) { return }
    guard
      let (serial, isNew) = store.append(
        entry, key: key, content: content, number: number, name: name)
    else {
      // The lane is past its number, and says so.
      return devices[index].unanswered.removeAll { $0 == key }
    }
    if isNew {
      startPaused(store[serial].entry.lane)
      tell(store[serial].entry)
    }
    acknowledge(index, key, serial)
  }

  /// The device is told, unless it is cut off.
  mutating func acknowledge(_ index: Int, _ key: Int, _ serial: Serial) {
    guard Int.random(in: 0..<10, using: &random) > 0 else { return }
    devices[index].unanswered.removeAll { $0 == key }
    if let earlier = devices[index].acknowledged[key], store.present(earlier) != serial {
      violate("key \(key) of device \(index) was stored as \(earlier) and as \(serial)")
    }
    devices[index].acknowledged[key] = serial
  }

  mutating func changeMood(of index: Int) {
    guard !isFaultFree else { return }
    upstreams[index].mood = SimulatedUpstream.Mood.allCases.randomElement(using: &random) ?? .down
    let stay = Int64.random(in: 500...40_000, using: &random)
    schedule(.moodChanges(upstream: index), inMs: stay)
  }

  mutating func walkForExpired() {
    if scheduler.changingCount == 0 {
      for serial in store.line where store[serial].entry.expiresAt <= clock.wall {
        scheduler.expire(store[serial].entry, now: clock)
      }
    }
    giveUpGaps()
    steer()
    beginClearing()
    schedule(.walkForExpired, inMs: 1000)
  }

  /// The plug is pulled: only what was committed is left.
  ///
  /// The relay starts anew from it.
  mutating func crash() {
    guard !isFaultFree else { return }
    if Bool.random(using: &random) { drain() }
    restart()
    crashCount += 1
    schedule(.crash, inMs: Int64.random(in: 1_000...15_000, using: &random))
  }

  /// The relay is told to end: what is in flight is cut off, and nothing more goes out.
  private mutating func drain() {
    scheduler.stop()
    scheduler.cutOff(now: clock)
    for serial in inFlight.sorted() { callOff(serial) }
    scheduler.timePassed(now: clock)
    for action in scheduler.takeActions() {
      switch action {
      case .attempt(let entry), .verify(let entry):
        violate("\(entry.serial) was attempted after the relay was told to end")
      // What is still on its way to the disk may arrive there, or be lost.
      case .record(let transition): commitBeforeTheEnd(transition)
      case .readLine, .readLineBackwards, .reachabilityChanged: break
      }
    }
    if scheduler.inFlightCount != 0 { violate("attempts are said to be in flight after all ended") }
    if scheduler.nextWake != nil { violate("a relay that ends wants to be woken") }
    checkCounts()
  }

  private mutating func callOff(_ serial: Serial) {
    // What was sent has arrived, for all anybody knows.
    scheduler.attemptEnded(
      AttemptReport(
        serial: serial, event: .failed(.brokenOff, detail: ""), startedAt: clock.wall,
        durationMs: 1, isWritten: true),
      now: clock)
  }

  private mutating func commitBeforeTheEnd(_ transition: Transition) {
    guard Bool.random(using: &random) else { return }
    var transition = transition
    noteBackoff(by: transition)
    noteWishToSendAgain(transition)
    store.commit(&transition)
  }

  mutating func restart() {
    life += 1
    alarm = Alarm()
    inFlight = []
    lineQuestion = nil
    // Where the one that failed has ended, nothing on the disk tells of the wait.
    backoffs = backoffs.filter { store[$0.value.serial].end == nil }
    reserved = []
    clearing = []
    scheduler = Self.freshScheduler(seed: random.next(), isSharded: isSharded, now: clock)
    runs = RunBook()
    scheduler.restorePauses(store.pauses)
    guard !isSharded else {
      epochs = [:]
      takeShards()
      return takeUpGaps()
    }
    var after: Serial = 0
    while true {
      let page = store.page(after: after, countMax: 16)
      scheduler.restore(
        page, latest: Set(page.entries.map(\.lane).filter { Self.order(of: $0) == .latest }))
      after = page.scannedThrough
      if !page.hasMore { break }
      // The relay counts the rest once its windows are full; here it may do so sooner and later.
      guard chance(1, in: 3) else { continue }
      let rest = store.page(after: after, countMax: .max).entries
      scheduler.restore(
        counted: rest, latest: Set(rest.map(\.lane).filter { Self.order(of: $0) == .latest }))
      break
    }
    scheduler.restored(now: clock, wasClockSetBack: latestWall > clock.wall)
    takeUpGaps()
  }

  /// Ends the faults: upstreams are well, and the plug stays in.
  ///
  /// The relay goes on as it is, so that a lane that it has lost sight of shows.
  mutating func endFaults() {
    isFaultFree = true
    wallOffsetMs = 0
    for index in upstreams.indices { upstreams[index].mood = .healthy }
    for device in devices.indices { devices[device].unanswered = [] }
    configure(Self.policies)
    takeShards()
    // What follows from it begins now, and not after the next event.
    carryOutActions()
  }
}

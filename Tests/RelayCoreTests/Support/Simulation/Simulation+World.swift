import RelayCore

@testable import StoreModel

/// A device that posts again, under the same key, what it saw no answer to.
struct SimulatedDevice {
  let number: Int
  var nextKey = 1
  /// Keys that were posted and not answered yet.
  var unanswered: [Int] = []
  /// The keys whose numbers the device has declared void.
  var voided: Set<Int> = []
  /// The keys that a store has taken, whether or not it said so.
  var stored: Set<Int> = []
  /// What was acknowledged: key to the envelope's id.
  var acknowledged: [Int: EnvelopeID] = [:]
  /// The sequence numbers of what was posted, by key; empty for a device that sends none.
  var numbers: [Int: Int64] = [:]
  /// The last sequence number of each lane.
  var lastNumber: [Int: Int64] = [:]

  init(number: Int) { self.number = number }
}

// What happens around the relay: upstreams change their mood, time passes, the plug is pulled.
extension Simulation {
  /// Commits happen one after the other, in the order in which they were asked for.
  mutating func commitTime() -> MonotonicTime {
    let soonest = clock.monotonic.adding(milliseconds: Int64.random(in: 0...8, using: &random))
    lastCommitAt = max(soonest, MonotonicTime(nanoseconds: lastCommitAt.nanoseconds + 1))
    return lastCommitAt
  }

  mutating func changeMood(of index: Int) {
    guard !isFaultFree else { return }
    upstreams[index].mood = SimulatedUpstream.Mood.allCases.randomElement(using: &random) ?? .down
    let stay = Int64.random(in: 500...40_000, using: &random)
    schedule(.moodChanges(upstream: index), inMs: stay)
  }

  mutating func walkForExpired() {
    if scheduler.changingCount == 0 {
      for entry in store.line where entry.expiresAt <= clock.wall {
        scheduler.expire(entry, now: clock)
      }
    }
    giveUpGaps()
    steer()
    beginClearing()
    forgetEnded()
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
      case .attemptTogether(let entries, _):
        violate("\(entries.count) went together after the relay was told to end")
      // What is still on its way to the disk may arrive there, or be lost.
      case .record(let transition): commitBeforeTheEnd(transition)
      case .readLine, .readLineBackwards, .reachabilityChanged, .upstreamHeld,
        .batchCeilingLowered:
        break
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
    noteBackoff(by: transition)
    noteWishToSendAgain(transition)
    // Nobody is there to be told.
    var commit = Commit()
    do throws(StoreError) { try store.record([transition], in: &commit) } catch {
      violate("\(error)")
    }
  }

  mutating func restart() {
    life += 1
    alarm = Alarm()
    inFlight = []
    paced = PacedRequests()
    lineQuestion = nil
    // Where the one that failed has ended, nothing on the disk tells of the wait.
    backoffs = backoffs.filter { store.place(of: $0.value.serial) != nil }
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
      scheduler.restore(page, latest: latestLanes(of: page.entries))
      after = page.scannedThrough
      if !page.hasMore { break }
      // The relay counts the rest once its windows are full; here it may do so sooner and later.
      guard chance(1, in: 3) else { continue }
      let rest = store.page(after: after, countMax: .max).entries
      scheduler.restore(counted: rest, latest: latestLanes(of: rest))
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

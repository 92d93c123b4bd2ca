@testable import RelayCore
@testable import StoreModel

// Envelopes that go together: the last of the upstreams takes them so.
extension Simulation {
  static let batchPolicy = BatchPolicy(itemsMax: 5, lingerMs: 20)
  /// The bytes of each envelope in a request.
  private static let bytesEach = 100

  /// Some envelopes are found to need a request of their own, and some do not fit.
  mutating func attemptTogether(_ entries: [LineEntry], bytesMax: Int?) {
    checkTogether(entries)
    var (members, alone, left): ([LineEntry], [Serial], [Serial]) = ([], [], [])
    var closed: Set<LaneNumber> = []
    for entry in entries {
      let number = store.envelopes[entry.serial].map { Self.number(in: $0.draft.content) }
      let isFull = !members.isEmpty && (members.count + 1) * Self.bytesEach > bytesMax ?? .max
      if closed.contains(entry.lane) || isFull || (!members.isEmpty && chance(1, in: 12)) {
        closed.insert(entry.lane)
        left.append(entry.serial)
      } else if number.map({ $0 % 11 == 0 }) ?? true {
        closed.insert(entry.lane)
        alone.append(entry.serial)
      } else {
        members.append(entry)
      }
    }
    guard members.isEmpty, let lone = entries.first(where: { $0.serial == alone.first }) else {
      scheduler.leftOut(alone: alone, left: left, now: clock)
      if !members.isEmpty { send(members) }
      return
    }
    // The first that needs a request of its own has this one's place.
    scheduler.leftOut(
      alone: Array(alone.dropFirst()), left: left, sent: lone.serial, now: clock)
    attempt(lone)
  }

  private mutating func send(_ members: [LineEntry]) {
    batchedCount += members.count
    attemptCount += members.count
    for member in members { inFlight.insert(member.serial) }
    let contents = members.map { member in
      (member.serial, store.envelopes[member.serial].map { Self.number(in: $0.draft.content) } ?? 0)
    }
    let ending = upstreams[Self.index(members[0].upstream)].attemptTogether(
      contents, random: &random)
    let reports = zip(members, ending.events).map { member, event in
      AttemptReport(
        serial: member.serial, event: event, startedAt: clock.wall, durationMs: ending.durationMs,
        isWritten: ending.isWritten)
    }
    if ending.subject == .whole, case .answered(let response) = ending.events[0],
      response.status == 422 || response.status == 413, members.count > 1
    {
      halvedCount += 1
    }
    schedule(.batchEnds(reports, ending.subject), inMs: ending.durationMs)
  }

  mutating func batchEnds(_ reports: [AttemptReport], _ subject: BatchAnswerSubject) {
    for report in reports { inFlight.remove(report.serial) }
    scheduler.batchEnded(
      reports, subject: subject, bytes: reports.count * Self.bytesEach, now: clock)
  }

  /// Promise 2: those of a lane are a beginning of it, in its order, and none other of it is under
  /// way.
  private mutating func checkTogether(_ entries: [LineEntry]) {
    if entries.isEmpty || entries.count > Self.batchPolicy.itemsMax {
      violate("\(entries.count) go together")
    }
    let members = Set(entries.map(\.serial))
    var lanes: [LaneNumber: [Serial]] = [:]
    for entry in entries {
      checkLease(of: entry.serial, in: entry.lane)
      checkOrder(of: entry)
      lanes[entry.lane, default: []].append(entry.serial)
      if entry.standing != .queued { violate("\(entry.serial) goes along as \(entry.standing)") }
    }
    for (lane, serials) in lanes.sorted(by: { $0.key < $1.key }) {
      if let first = entries.first(where: { $0.serial == serials[0] }) { checkIsFirst(first) }
      guard order(of: lane) == .strict else {
        if serials.count > 1 { violate("several of lane \(lane.rawValue) go together") }
        continue
      }
      let standing = store.line.lazy.filter { $0.lane == lane && $0.standing != .parked }
      if standing.prefix(serials.count).map(\.serial) != serials {
        violate("\(serials) of lane \(lane.rawValue) go together, and are not its first")
      }
      for (serial, flight) in scheduler.inFlight where flight.lane == lane {
        if !members.contains(serial) { violate("\(serial) of the same lane is under way") }
      }
    }
  }
}

extension SimulatedUpstream {
  /// How a request with several envelopes ends: with one event for each.
  struct JointEnding {
    var events: [AttemptEvent]
    var subject: BatchAnswerSubject
    var durationMs: Int64
    var isWritten = false
  }

  mutating func attemptTogether(
    _ items: [(serial: Serial, content: Int)], random: inout SplitMix64
  ) -> JointEnding {
    let isPoisoned = items.contains { $0.content % 37 == 0 }
    if mood == .healthy, items.count > 1, Int.random(in: 0..<40, using: &random) == 0 {
      return unreadable(items)
    }
    let saysOfEach = Bool.random(using: &random)
    guard mood == .healthy || (mood == .flaky && Bool.random(using: &random)), saysOfEach else {
      return whole(items, isPoisoned: isPoisoned, random: &random)
    }
    let events = items.map { item in
      // It may be full for one of them.
      guard Int.random(in: 0..<20, using: &random) > 0 else { return Self.answer(503, &random) }
      let isPoison = item.content % 37 == 0
      take(item.serial, item.content, isPoison: isPoison)
      return Self.answer(isPoison ? 422 : 200, &random)
    }
    return JointEnding(
      events: events, subject: .each, durationMs: Int64.random(in: 1...50, using: &random))
  }

  /// It takes all that it can, and says of some of them what came of it.
  private mutating func unreadable(_ items: [(serial: Serial, content: Int)]) -> JointEnding {
    for item in items { take(item.serial, item.content, isPoison: item.content % 37 == 0) }
    let event = AttemptEvent.failed(.malformedResponse, detail: "")
    return JointEnding(
      events: items.map { _ in event }, subject: .unreadable, durationMs: 5, isWritten: true)
  }

  private mutating func whole(
    _ items: [(serial: Serial, content: Int)], isPoisoned: Bool, random: inout SplitMix64
  ) -> JointEnding {
    if mood == .healthy || mood == .flaky,
      isPoisoned || Int.random(in: 0..<15, using: &random) == 0,
      items.count > 1
    {
      let status = isPoisoned ? 422 : 413
      return JointEnding(
        events: items.map { _ in Self.answer(status, &random) }, subject: .whole, durationMs: 5)
    }
    // One goes as all go.
    let ending = attempt(items[0].serial, content: items[0].content, random: &random)
    let isTaken: Bool
    if case .answered(let response) = ending.event {
      isTaken = response.status == 200
    } else {
      isTaken = mood == .silent || (ending.isWritten && Bool.random(using: &random))
    }
    if isTaken { for item in items.dropFirst() { take(item.serial, item.content) } }
    return JointEnding(
      events: items.map { _ in ending.event }, subject: .whole, durationMs: ending.durationMs,
      isWritten: ending.isWritten)
  }
}

import EventLoop
import RelayCore
import Synchronization

/// The dispatcher's state for `/status`.
package struct DispatcherSnapshot: Sendable {
  /// All configured upstreams.
  package var upstreams: [UpstreamNumber: Scheduler.UpstreamView]
  /// Upstreams that are not configured and that something waits for.
  package var unconfigured: [UpstreamNumber: Scheduler.UnconfiguredView]
  /// The acceptance time of the oldest of the lanes' heads; nil if nothing waits.
  package var oldestWaitingAt: WallTime?
  /// The number of attempts under way.
  package var inFlightCount: Int
  /// Lanes that stand until someone resolves them; at most ``shownMax``.
  package var blockedLanes: [(lane: LaneNumber, head: LineEntry)]
  /// The number of blocked lanes in all.
  package var blockedLaneCount: Int
  /// The lanes in which envelopes wait for sequence numbers, by the acceptance of the oldest of
  /// these.
  package var parkedLanes: TimeTally
  /// The clients with the most waiting envelopes; at most ``shownMax``.
  package var backlogs: [(client: ClientNumber, waiting: Int)]

  /// The most blocked lanes, and the most backlogs, that are shown.
  package static let shownMax = 20
}

// What can be asked of the dispatcher, by endpoints.
extension Dispatcher {
  /// Waits until an envelope has ended or blocks its lane, but no longer than so many milliseconds,
  /// and no longer than the task is wanted.
  ///
  /// - Returns: false if the time ran out, the task was cancelled, or the relay is shutting down.
  package func settled(_ id: EnvelopeID, withinMs milliseconds: Int64) async -> Bool {
    // Registered first and looked up then, so that nothing that happens in between is missed. One
    // that was parked may have moved before: then it is known by another number.
    var serial = store.serial(in: id)
    while true {
      guard let waiter = waiters.register(serial) else { return false }
      defer { waiters.remove(waiter) }
      guard let record = try? await store.envelope(id) else {
        return await waiter.waitWhileWanted(on: loop, forMs: milliseconds)
      }
      if record.state.isEnd || record.state == .blocked { return true }
      guard record.entry.serial != serial else {
        return await waiter.waitWhileWanted(on: loop, forMs: milliseconds)
      }
      serial = record.entry.serial
    }
  }

  /// Whether an attempt of a waiting envelope is under way, and its place in its lane, from 1; nil
  /// if it stands too far back to be known.
  package func placement(
    of serial: Serial, in lane: LaneNumber
  ) -> (isInFlight: Bool, position: Int?) {
    state.withLock { state in
      (
        state.scheduler.isInFlight(serial),
        state.scheduler.position(of: serial, in: lane)
      )
    }
  }

  /// What keeps a queued envelope waiting; nil if only its turn or a time of its own does.
  func hindrance(of entry: LineEntry) -> Hindrance? {
    let now = clock().monotonic
    return state.withLock {
      $0.scheduler.hindrance(of: entry.serial, in: entry.lane, to: entry.upstream, at: now)
    }
  }

  /// The same of several, by their numbers.
  ///
  /// - Parameter numbers: Those of the configured upstreams, by their names.
  func hindrances(
    of queued: [EnvelopeSummary], to numbers: [String: UpstreamNumber]
  ) -> [Serial: Hindrance] {
    let now = clock().monotonic
    return state.withLock { state in
      var found: [Serial: Hindrance] = [:]
      for envelope in queued {
        let serial = envelope.fate.serial
        found[serial] = state.scheduler.hindrance(
          of: serial, in: envelope.lane, to: numbers[envelope.terms.upstream], at: now)
      }
      return found
    }
  }

  /// The envelopes of which an attempt is under way.
  package func inFlightSerials() -> Set<Serial> {
    state.withLock { $0.scheduler.inFlightSerials }
  }

  /// A lane in which something waits; nil if nothing does.
  package func laneView(
    _ lane: LaneNumber
  ) -> (phase: Lane.Phase, waiting: Int, parked: Int, head: LineEntry?)? {
    state.withLock { state in
      state.scheduler.lane(lane).map { ($0.phase, $0.waiting, $0.parked, $0.head) }
    }
  }

  /// The dispatcher's present state.
  ///
  /// Parts that need a look at every lane may be older; see ``LaneSurveyor``.
  package func snapshot() async -> DispatcherSnapshot {
    let survey = await surveyor.survey { survey in
      state.withLock { $0.scheduler.advance(&survey, countMax: Self.lanesPerPiece) }
    }
    let now = clock().monotonic
    return state.withLock { state in
      DispatcherSnapshot(
        upstreams: state.scheduler.upstreamViews(survey, at: now),
        unconfigured: state.scheduler.unconfiguredViews(survey),
        oldestWaitingAt: survey.oldestWaitingAt,
        inFlightCount: state.scheduler.inFlightCount,
        blockedLanes: state.scheduler.blockedLanes(countMax: DispatcherSnapshot.shownMax),
        blockedLaneCount: state.scheduler.blockedLaneCount,
        parkedLanes: survey.parkedLanes, backlogs: survey.backlogs)
    }
  }

  /// Lanes that stand until someone resolves them, at most `countMax`, and the number of all.
  func blockedLanes(
    countMax: Int
  ) -> (lanes: [(lane: LaneNumber, head: LineEntry)], count: Int) {
    state.withLock { state in
      (
        state.scheduler.blockedLanes(countMax: countMax), state.scheduler.blockedLaneCount
      )
    }
  }

  /// The head of a lane that stands until someone resolves it; nil if the lane does not.
  func blockedHead(of lane: LaneNumber) -> LineEntry? {
    state.withLock { $0.scheduler.blockedHead(of: lane) }
  }

  /// The heads of those of these lanes that stand until someone resolves them.
  ///
  /// By the heads' own standing, so that they are known from the first request after a start on,
  /// before the lanes have begun to move.
  func blockedHeads(of lanes: some Sequence<LaneNumber>) -> [LineEntry] {
    state.withLock { state in
      lanes.compactMap { number in
        let head = state.scheduler.lane(number)?.head
        return head?.standing == .blocked ? head : nil
      }
    }
  }

  /// The number of lanes looked at in one hold of the lock: a fraction of a millisecond.
  static let lanesPerPiece = 4096

  /// The number of waiting envelopes as of the last event.
  ///
  /// Every request asks for it, so it must not wait for the lock.
  package var waitingCount: Int { waitingCountNow.load(ordering: .relaxed) }

  /// The number of envelopes that wait for each configured upstream, and in all.
  var waitingByUpstream: (each: [UpstreamNumber: Int], all: Int) {
    state.withLock { ($0.scheduler.waitingByUpstream, $0.scheduler.waitingCount) }
  }

  /// The number of one client's waiting envelopes.
  package func waiting(of client: ClientNumber) -> Int {
    state.withLock { $0.scheduler.waiting(of: client) }
  }
}

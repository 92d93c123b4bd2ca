import EventLoop
import RelayCore
import Synchronization

/// The work that runs ask for, to be done once the lock is released.
struct RunWork {
  fileprivate var releases: [RunBook.Release] = []
  fileprivate var settled: [RunBook.Number] = []

  /// No work.
  init() {}

  /// Takes the work that there is.
  init(takenFrom runs: inout RunBook) {
    releases = runs.takeOrders()
    settled = runs.takeSettled()
  }
}

extension Dispatcher.State {
  /// A change is durable: the scheduler learns of it, and then the runs.
  mutating func recorded(_ transition: Transition, now: Now) {
    guard !runs.isEmpty else { return scheduler.recorded(transition, now: now) }
    let client = scheduler.lane(transition.lane)?.client
    scheduler.recorded(transition, now: now)
    runs.recorded(transition, of: client, in: &scheduler, now: now)
  }

  /// A change could not be written: the scheduler learns of it, and then the runs.
  mutating func unwritten(_ transition: Transition, now: Now) {
    scheduler.unwritten(transition, now: now)
    runs.unwritten(transition, in: &scheduler, now: now)
  }
}

// How endpoints run what waits of a client.
extension Dispatcher {
  /// Takes part in the run with this filter; see ``RunBook/join(_:of:for:_:)``.
  ///
  /// Each call is to be followed by ``leaveRun(_:)``.
  func joinRun(
    _ filter: RunFilter, of client: ClientNumber, for holder: PlaceHolder, _ limits: PlaceLimits
  ) throws(SharedPlaces.Refusal) -> (number: RunBook.Number, isNew: Bool) {
    try state.withLock { (state) throws(SharedPlaces.Refusal) in
      try state.runs.join(filter, of: client, for: holder, limits)
    }
  }

  /// Hands over what a new run is about.
  func beginRun(_ number: RunBook.Number, _ members: [RunMember]) {
    apply { state, now in
      state.runs.begin(number, members, in: &state.scheduler, now: now)
    }
    runsBegun.settle(CollectionOfOne(number))
  }

  /// Says that a new run cannot begin.
  func failRun(_ number: RunBook.Number, _ failure: RunBook.Failure) {
    apply { state, _ in state.runs.fail(number, failure) }
    runsBegun.settle(CollectionOfOne(number))
  }

  /// Waits until a run is settled, but no longer than so many milliseconds, nor than the task is
  /// wanted.
  ///
  /// Changes to the run's own envelopes are waited for in any case.
  ///
  /// - Returns: How it stands then; nil if the relay is shutting down.
  func runStand(
    _ number: RunBook.Number, withinMs milliseconds: Int64
  ) async -> RunBook.Stand? {
    guard let begun = runsBegun.register(number), let settled = runsSettled.register(number) else {
      return nil
    }
    defer {
      runsBegun.remove(begun)
      runsSettled.remove(settled)
    }
    if isRun(number, .collecting) {
      _ = await begun.waitWhileWanted(on: loop, forMs: Self.steeringPatienceMs)
    }
    if milliseconds > 0, isRun(number, .underWay) {
      _ = await settled.waitWhileWanted(on: loop, forMs: milliseconds)
    }
    return state.withLock { $0.runs.stand(of: number) }
  }

  /// Takes part in a run no longer; it goes on all the same.
  func leaveRun(_ number: RunBook.Number) {
    state.withLock { $0.runs.leave(number) }
  }

  /// The waiting envelopes in some lanes of a client, if those lanes have all that waits of it, and
  /// it is all in memory.
  ///
  /// This saves a walk along a line that may be long with others' envelopes.
  func waitingInMemory(_ lanes: [LaneNumber], of client: ClientNumber) -> [LineEntry]? {
    state.withLock { state in
      var left = state.scheduler.waiting(of: client)
      guard left <= RunBook.Limits.membersMax else { return nil }
      var entries: [LineEntry] = []
      for lane in lanes {
        guard let lane = state.scheduler.lane(lane) else { continue }
        guard lane.window.count == lane.waiting else { return nil }
        left -= lane.waiting
        for place in 0..<lane.window.count { entries.append(lane.window[place]) }
      }
      return left == 0 ? entries : nil
    }
  }

  private enum RunPhase { case collecting, underWay }

  private func isRun(_ number: RunBook.Number, _ phase: RunPhase) -> Bool {
    state.withLock { state in
      switch (state.runs.stand(of: number), phase) {
      case (.collecting, .collecting): true
      case (.begun(let run), .underWay): !run.isComplete
      default: false
      }
    }
  }

  func carryOut(_ work: RunWork) {
    if !work.settled.isEmpty { runsSettled.settle(work.settled) }
    for order in work.releases {
      Task(executorPreference: loop) { [self] in await carryOut(order) }
    }
  }

  /// Lets a head go, in the turn of whoever else may be changing it.
  private func carryOut(_ order: RunBook.Release) async {
    if let turn = await takeTurn(of: order.id) {
      defer { giveBack(turn) }
      switch await steer(.run, order.head, in: turn) {
      // Once it is on its way, the run hears of it when it is durable or has failed, sooner or
      // later.
      case .done, .delayed, .unwritten: return
      case .refused, .moot: break
      }
    }
    apply { state, now in
      state.runs.releaseRefused(order.run, in: order.head.lane, &state.scheduler, now: now)
    }
  }
}

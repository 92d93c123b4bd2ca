import RelayCore
import Synchronization

/// Remembers what a store told, counts positions, and lets a test wait for what is recorded.
final class RecordingObserver: StoreObserver {
  struct State {
    var startedPaused: [PauseTarget] = []
    /// How many had been accepted when the last of those was told.
    var acceptedBeforeStartedPaused = 0
    var accepted: [AcceptedEnvelope] = []
    var recorded: [Transition] = []
    /// What could not be written, and those who wait for so many of it.
    var unwritten: [Transition] = []
    var unwrittenWaiters: [(count: Int, resume: @Sendable () -> Void)] = []
    /// What the store has said that it goes on without, each time.
    var goesOnWithout: [Set<StoreDamage.Part>] = []
    var acceptedGroups = 0
    var loggedThrough: [EventPosition] = []
    var waitingByLane: [LaneNumber: Set<Serial>] = [:]
    var waiters: [(count: Int, resume: @Sendable () -> Void)] = []
    /// What may not be replaced, since an attempt is said to be under way.
    var underWay: Set<Serial> = []
    var reserved: Set<Serial> = []
    var coalesced: [CoalescedEnvelope] = []
    var clearing: Set<ClientNumber> = []
    var cleared: [ClearedBacklog] = []
    var endsChanged: [EndChange] = []
    /// What others are changing.
    var changing: Set<Serial> = []
    /// How often it was told that clients were forgotten.
    var forgettings = 0
  }

  let state = Mutex(State())

  func committed(_ commit: Commit, answer: (CommitPositions) -> Void) {
    if let damage = commit.damage {
      state.withLock { $0.goesOnWithout.append(damage.leftOut) }
    }
    if !commit.startedPaused.isEmpty { startedPaused(commit.startedPaused) }
    var positions = CommitPositions()
    for change in commit.changes {
      switch change {
      case .changed(let transitions): recorded(transitions)
      case .unwritten(let transitions): unwritten(transitions)
      case .coalesced(let envelopes): positions.coalesced = coalesced(envelopes)
      case .accepted(let envelopes): positions.accepted = accepted(envelopes)
      case .cleared(let backlog): cleared(backlog)
      case .endsChanged(let changes): state.withLock { $0.endsChanged += changes }
      }
    }
    state.withLock { state in
      if commit.hasForgottenClients { state.forgettings += 1 }
      if let end = commit.eventsEnd { state.loggedThrough.append(end) }
    }
    answer(positions)
  }

  private func startedPaused(_ targets: [PauseTarget]) {
    state.withLock { state in
      state.startedPaused += targets
      state.acceptedBeforeStartedPaused = state.accepted.count
    }
  }

  private func accepted(_ envelopes: [AcceptedEnvelope]) -> [Int] {
    state.withLock { state in
      state.acceptedGroups += 1
      state.accepted += envelopes
      return envelopes.map {
        if let old = $0.movedFrom { state.waitingByLane[$0.entry.lane]?.remove(old) }
        guard $0.entry.standing != .parked else { return 0 }
        state.waitingByLane[$0.entry.lane, default: []].insert($0.entry.serial)
        return state.waitingByLane[$0.entry.lane]?.count ?? 0
      }
    }
  }

  private func recorded(_ transitions: [Transition]) {
    let ready = state.withLock { state in
      state.recorded += transitions
      for case let transition in transitions {
        if case .end = transition.change {
          state.waitingByLane[transition.lane]?.remove(transition.serial)
        }
      }
      let count = state.recorded.count
      defer { state.waiters.removeAll { $0.count <= count } }
      return state.waiters.filter { $0.count <= count }
    }
    for waiter in ready { waiter.resume() }
  }

  private func unwritten(_ transitions: [Transition]) {
    let ready = state.withLock { state in
      state.unwritten += transitions
      let count = state.unwritten.count
      defer { state.unwrittenWaiters.removeAll { $0.count <= count } }
      return state.unwrittenWaiters.filter { $0.count <= count }
    }
    for waiter in ready { waiter.resume() }
  }

  func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool {
    state.withLock { state in
      !state.underWay.contains(serial) && state.reserved.insert(serial).inserted
    }
  }

  private func coalesced(_ envelopes: [CoalescedEnvelope]) -> [Int?] {
    state.withLock { state in
      state.coalesced += envelopes
      return envelopes.map { state.reserved.remove($0.entry.serial) == nil ? nil : 1 }
    }
  }

  func released(_ reservations: Reservations) {
    state.withLock { state in
      state.reserved.subtract(reservations.envelopes.keys)
      state.clearing.subtract(reservations.clients)
    }
  }

  func reserveAll(of client: ClientNumber) -> SparedEnvelopes {
    state.withLock { state in
      state.clearing.insert(client)
      return SparedEnvelopes(inFlight: state.underWay, changing: state.changing)
    }
  }

  private func cleared(_ backlog: ClearedBacklog) {
    state.withLock { state in
      state.clearing.remove(backlog.client)
      state.cleared.append(backlog)
    }
  }

  /// Waits until so many transitions have been recorded in all.
  func waitUntilRecorded(_ count: Int) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isThere = state.withLock { state in
        if state.recorded.count >= count { return true }
        state.waiters.append((count, { continuation.resume() }))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// Waits until so many transitions could not be written in all.
  func waitUntilUnwritten(_ count: Int) async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let isThere = state.withLock { state in
        if state.unwritten.count >= count { return true }
        state.unwrittenWaiters.append((count, { continuation.resume() }))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  var endsChanged: [EndChange] { state.withLock { $0.endsChanged } }
  var recordedCount: Int { state.withLock { $0.recorded.count } }
}

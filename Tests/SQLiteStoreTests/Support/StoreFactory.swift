import Foundation
import RelayCore
import SQLiteStore
import StoreModel
import Synchronization
import Testing

/// A kind of store that the conformance suite runs against.
struct StoreFactory: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Opens the store that keeps its data under `folder`; again and again the same one.
  let open:
    @Sendable (_ folder: String, _ clock: ManualClock, _ rules: StoreRules) throws
      -> any PlannedStore

  /// Every kind of whole store: for what ``Bench/store`` does.
  static let all = [sqlite]
  /// Every kind that carries out plans: for what ``Bench/planned`` does.
  static let planned = [sqlite, model]

  private static let sqlite = StoreFactory(testDescription: "SQLite") { folder, clock, rules in
    var options = SQLiteStore.Options(clock: { clock.now })
    options.rules = rules
    return try SQLiteStore.open(folder: folder, options: options)
  }

  private static let model = StoreFactory(testDescription: "model") { folder, clock, rules in
    let disk = disks.withLock { disks in
      let disk = disks[folder] ?? ModelStore.Disk()
      disks[folder] = disk
      return disk
    }
    return ModelStore(
      on: disk, clock: { clock.now }, startPauses: rules.startPauses, nameLimits: rules.names)
  }

  /// What the models have instead of folders.
  private static let disks = Mutex<[String: ModelStore.Disk]>([:])
}

extension SQLiteStore: PlannedStore {}

/// A clock that stands still until a test moves it.
final class ManualClock: Sendable {
  private let time = Mutex(WallTime(millisecondsSinceEpoch: 1_800_000_000_000))

  var now: WallTime {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }

  func advance(milliseconds: Int64) {
    time.withLock { $0 = $0.adding(milliseconds: milliseconds) }
  }
}

/// A store in a folder of its own, with an observer that remembers what it was told.
final class Bench: Sendable {
  let folder: String
  let clock = ManualClock()
  let factory: StoreFactory
  let observer: RecordingObserver
  private let current: Mutex<any PlannedStore>

  init(_ factory: StoreFactory = StoreFactory.all[0], folder: String? = nil) throws {
    self.factory = factory
    self.folder = folder ?? Bench.freshFolder()
    observer = RecordingObserver()
    let store = try factory.open(self.folder, clock, StoreRules())
    store.start(observer: observer)
    current = Mutex(store)
  }

  /// The store, whose rules are plans.
  var planned: any PlannedStore { current.withLock { $0 } }

  /// The same, where it is a whole store.
  var store: any EnvelopeStore {
    guard let store = planned as? any EnvelopeStore else {
      preconditionFailure("\(factory.testDescription) does not do all that a store does")
    }
    return store
  }

  /// The same, for what only a store with files on this machine has.
  var embedded: any EmbeddedStore {
    get throws { try #require(store as? any EmbeddedStore) }
  }

  /// Its files, as it knows them.
  var files: StoreFiles {
    get throws { try embedded.files() }
  }

  /// Closes the store and opens it again.
  ///
  /// - Parameters:
  ///   - startPauses: Who starts paused from now on.
  ///   - names: How many names may be known from now on.
  func reopen(
    _ startPauses: StartPauses = StartPauses(), names: NameLimits = NameLimits()
  ) async throws {
    await planned.close()
    var rules = StoreRules()
    rules.startPauses = startPauses
    rules.names = names
    let store = try factory.open(folder, clock, rules)
    store.start(observer: observer)
    current.withLock { $0 = store }
  }

  static func freshFolder() -> String {
    NSTemporaryDirectory() + "waystation-store-\(UUID().uuidString)"
  }

  /// Closes the store and removes its folder.
  func tearDown() async {
    await planned.close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Runs a test with a fresh store.
  static func with(
    _ factory: StoreFactory = StoreFactory.all[0], _ body: (Bench) async throws -> Void
  ) async throws {
    let bench = try Bench(factory)
    do {
      try await body(bench)
    } catch {
      await bench.tearDown()
      throw error
    }
    await bench.tearDown()
  }
}

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

extension Bench {
  /// A draft with what a test does not care about filled in.
  func draft(
    client: String = "device-1", lane: String = "default", upstream: String = "default",
    body: EnvelopeBody = .inline(Array("hello".utf8)), key: String? = nil,
    fingerprint: UInt8 = 1, sequence: Int64? = nil, hold: Bool = false,
    notBefore: WallTime? = nil, expiresInMs: Int64 = 604_800_000,
    onFailure: FailurePolicy = .skip, coalesce: String? = nil
  ) -> EnvelopeDraft {
    var headers = HeaderBlock()
    headers.append(name: "Content-Type", value: "text/plain")
    return EnvelopeDraft(
      client: client, lane: lane, upstream: upstream,
      content: EnvelopeContent(
        method: "POST", target: Array("/a?b=c".utf8), headers: headers, body: body),
      key: key,
      fingerprint: key == nil && sequence == nil ? [] : [UInt8](repeating: fingerprint, count: 32),
      sequence: sequence, tag: "t", hold: hold, notBefore: notBefore,
      expiresAt: clock.now.adding(milliseconds: expiresInMs), onFailure: onFailure,
      references: false, coalesce: coalesce, isVoid: false, isInOrder: false)
  }

  /// Appends one envelope that must be accepted.
  @discardableResult
  func accept(_ draft: EnvelopeDraft) async throws -> EnvelopeID {
    let results = try await planned.append([draft], isAtomic: false)
    switch results.first {
    case .accepted(let id, _, _), .parked(let id, _): return id
    default: throw Unexpected(description: "not accepted: \(results)")
    }
  }

  /// The place in the line of an envelope that waits.
  func entry(_ id: EnvelopeID) async throws -> LineEntry {
    let serial = try await planned.envelope(id)?.entry.serial ?? id.serial
    let page = try await planned.line(after: serial - 1, countMax: 1)
    guard let entry = page.entries.first, entry.serial == serial else {
      throw Unexpected(description: "\(id) does not wait")
    }
    return entry
  }

  /// Records a change of a waiting envelope and waits until it is durable.
  func record(
    _ id: EnvelopeID, _ change: Transition.Change, attempt: AttemptRecord? = nil,
    response: UpstreamResponse? = nil, doubt: String? = nil
  ) async throws {
    let entry = try await entry(id)
    let count = observer.recordedCount
    planned.record([
      Transition(
        serial: entry.serial, lane: entry.lane, upstream: entry.upstream, change: change,
        at: clock.now, attempt: attempt, response: response, doubt: doubt, epoch: 1)
    ])
    await observer.waitUntilRecorded(count + 1)
  }

  /// One attempt.
  func attempt(_ number: Int32, _ outcome: Outcome, status: Int? = nil) -> AttemptRecord {
    AttemptRecord(
      number: number, startedAt: clock.now, durationMs: 12, outcome: outcome, status: status,
      error: status == nil ? "no route" : nil)
  }
}

/// A test met with something that it cannot go on from.
struct Unexpected: Error, CustomStringConvertible {
  let description: String
}

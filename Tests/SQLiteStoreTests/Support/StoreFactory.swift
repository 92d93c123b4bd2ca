import Foundation
import RelayCore
import SQLiteStore
import StoreModel
import Synchronization
import Testing

#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
#endif

/// A kind of store that the conformance suite runs against.
struct StoreFactory: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Opens the store that keeps its data under `folder`; again and again the same one.
  let open:
    @Sendable (_ folder: String, _ clock: ManualClock, _ rules: StoreRules) throws
      -> any PlannedStore
  /// Looks whether what the closed store keeps of itself is true.
  var look: @Sendable (_ folder: String) throws -> Void = { _ in }

  /// Every kind of whole store: for what ``Bench/store`` does.
  static let all = [sqlite] + postgres
  /// Every kind that carries out plans: for what ``Bench/planned`` does.
  static let planned = all + [model]

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

  #if PostgreSQL
  /// None where PostgreSQL is not installed.
  private static let postgres = TestDatabase.isInstalled ? [lookedAt] : []

  private static var lookedAt: StoreFactory {
    var factory = onDatabase
    factory.look = { folder in
      guard let database = databases.withLock({ $0[folder] }) else { return }
      try KeptCountsLook.check(database)
    }
    return factory
  }

  private static let onDatabase = StoreFactory(testDescription: "PostgreSQL") {
    folder, clock, rules in
    let url = try databases.withLock { databases in
      let database = try databases[folder] ?? TestDatabase.fresh()
      databases[folder] = database
      return database.url
    }
    var options = PostgresStore.Options(clock: { clock.now })
    options.rules.startPauses = rules.startPauses
    options.rules.names = rules.names
    options.rules.auditEntriesMax = rules.auditEntriesMax
    options.rules.eventLogBytesMax = rules.eventLogBytesMax
    options.rules.receipts = rules.receipts
    let address = try PostgresAddress(url: url, applicationName: "waystation")
    return try PostgresStore(at: address, options)
  }

  /// What the stores on PostgreSQL have instead of folders.
  private static let databases = Mutex<[String: TestDatabase]>([:])
  #else
  private static let postgres: [StoreFactory] = []
  #endif
  /// What the models have instead of folders.
  private static let disks = Mutex<[String: ModelStore.Disk]>([:])
}

extension SQLiteStore: PlannedStore {}
#if PostgreSQL
extension PostgresStore: PlannedStore {}
#endif

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

  /// The epoch under which it writes.
  var epoch: Int64 { planned.leases().first?.epoch ?? 1 }

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
    var rules = StoreRules()
    rules.startPauses = startPauses
    rules.names = names
    try await reopen(rules: rules)
  }

  /// Closes the store and opens it again, under these rules.
  func reopen(rules: StoreRules) async throws {
    await planned.close()
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
    #expect(throws: Never.self) { try factory.look(folder) }
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
        at: clock.now, attempt: attempt, response: response, doubt: doubt, epoch: epoch)
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

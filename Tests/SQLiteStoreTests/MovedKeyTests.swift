#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import SQLiteStore
import Testing

@Suite(
  "Remembered keys that are moved", .timeLimit(.minutes(5)),
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"))
struct MovedKeyTests {
  private let stand: MoveStand
  private let clock = ManualClock()

  init() throws { stand = try MoveStand() }

  private func open(_ folder: String) throws -> SQLiteStore {
    let clock = clock
    return try SQLiteStore.open(
      folder: stand.folder(folder), options: SQLiteStore.Options(clock: { clock.now }))
  }

  private func openDatabase() throws -> PostgresStore {
    let clock = clock
    let address = try PostgresAddress(url: stand.database.url, applicationName: "waystation")
    return try PostgresStore(at: address, PostgresStore.Options(clock: { clock.now }))
  }

  private func draft(_ key: String, fingerprint: UInt8 = 1) -> EnvelopeDraft {
    var draft = EnvelopeDraft(
      client: "Käse", lane: "l", upstream: "u",
      content: EnvelopeContent(
        method: "POST", target: Array("/".utf8), headers: HeaderBlock(), body: .inline([1])),
      expiresAt: clock.now.adding(milliseconds: 60_000))
    draft.key = key
    draft.fingerprint = [UInt8](repeating: fingerprint, count: 32)
    return draft
  }

  /// Has an envelope end and be forgotten, but for its key.
  private func remember(
    _ key: String, in store: any EnvelopeStore, _ observer: RecordingObserver
  ) async throws {
    let count = observer.recordedCount
    _ = try await store.append([draft(key)], isAtomic: false)
    let entry = try #require(try await store.line(after: 0, countMax: 1).entries.first)
    store.record([
      Transition(
        serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
        change: .end(.delivered, reason: ""), at: clock.now,
        epoch: store.leases().first?.epoch ?? 1)
    ])
    await observer.waitUntilRecorded(count + 1)
    clock.advance(milliseconds: 1)
    let cutoffs = RetentionCutoffs(
      delivered: clock.now, failed: clock.now, keys: clock.now.adding(milliseconds: -1000))
    while try await !store.deleteEnded(cutoffs, countMax: 9).isRoundDone {}
  }

  private func expectRemembered(_ keys: [String], in store: any EnvelopeStore) async throws {
    for key in keys {
      #expect(try await store.append([draft(key)], isAtomic: false) == [.forgotten])
      #expect(
        try await store.append([draft(key, fingerprint: 2)], isAtomic: false)
          == [.keyConflict(id: nil)])
    }
  }

  @Test("are known in a database that a folder was moved into, and in a folder again")
  func moved() async throws {
    let observer = RecordingObserver()
    let first = try open("a")
    first.start(observer: observer)
    try await remember("k-1", in: first, observer)
    await first.close()
    try stand.moveIn(from: "a")
    let second = try openDatabase()
    second.start(observer: observer)
    try await expectRemembered(["k-1"], in: second)
    try await remember("k-2", in: second, observer)
    await second.close()
    try stand.moveOut(to: "b")
    let third = try open("b")
    third.start(observer: observer)
    try await expectRemembered(["k-1", "k-2"], in: third)
    await third.close()
  }
}
#endif

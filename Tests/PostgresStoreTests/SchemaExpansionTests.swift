#if PostgreSQL
import Postgres
import PostgresStore
import PostgresTesting
import RelayCore
import Testing

@Suite(
  "tables of an older relay", .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"),
  .timeLimit(.minutes(5)))
struct SchemaExpansionTests {
  /// Takes away what version 2 and later ones have added.
  private static let contraction = """
    DROP TABLE kept_counts;
    DROP FUNCTION keep_counts(bigint[], bigint);
    ALTER TABLE seat_commit DROP COLUMN counts;
    DROP TABLE remembered_key;
    ALTER TABLE token DROP COLUMN renewable_until, DROP COLUMN renewal_ms, DROP COLUMN renewals,
      DROP COLUMN renewed_at, DROP COLUMN renewal_seed, DROP COLUMN former_digest,
      DROP COLUMN former_expires_at;
    DROP TABLE lane_ledger;
    DROP TABLE receipt;
    DROP TABLE receipt_origin;
    ALTER TABLE envelope DROP COLUMN covered_digest;
    ALTER TABLE lane DROP COLUMN chain;
    DROP TABLE upload;
    ALTER TABLE seat DROP COLUMN address, DROP COLUMN draining, DROP COLUMN whole_epoch;
    DROP TABLE relay;
    DROP FUNCTION take_store(bigint, bigint, text, bigint[], bigint[]);
    ALTER TABLE schema_version DROP COLUMN usable_from;
    UPDATE schema_version SET version = 1;
    """

  private func version(_ bench: StoreBench) throws -> Int32 {
    var connection = try bench.database.connect()
    let rows = try connection.run([PostgresCommand("SELECT version FROM schema_version")])
    return rows[0].int32(0, 0)
  }

  @Test("get what they lack, and keep what they have")
  func expanded() async throws {
    let bench = try StoreBench()
    let first = try bench.open(QuietObserver())
    _ = try await first.append([StoreBench.draft(1)], isAtomic: false)
    await first.close()
    let current = try version(bench)
    var connection = try bench.database.connect()
    try connection.execute(script: Self.contraction)
    let second = try bench.open(QuietObserver())
    #expect(try version(bench) == current)
    #expect(try bench.storedKeys() == ["key-1"])
    _ = try await second.append([StoreBench.draft(2)], isAtomic: false)
    #expect(try bench.storedKeys() == ["key-1", "key-2"])
    await second.close()
  }

  @Test("of a newer relay are used if it says that this one can, and refused otherwise")
  func newer() async throws {
    let bench = try StoreBench()
    let first = try bench.open(QuietObserver())
    _ = try await first.append([StoreBench.draft(1)], isAtomic: false)
    await first.close()
    var connection = try bench.database.connect()
    try connection.execute(script: "UPDATE schema_version SET version = 99")
    let second = try bench.open(QuietObserver())
    _ = try await second.append([StoreBench.draft(2)], isAtomic: false)
    await second.close()
    #expect(try bench.storedKeys() == ["key-1", "key-2"])
    try connection.execute(script: "UPDATE schema_version SET usable_from = 99")
    let error = try #require(throws: StoreError.self) { try bench.open(QuietObserver()) }
    #expect(error.kind == .newerSchema && error.detail.contains("relays that know version 99"))
  }

  @Test("are closed to relays that know of no ledgers once there is one")
  func ledgers() async throws {
    let bench = try StoreBench()
    var options = StoreBench.options
    options.rules.receipts = ReceiptRules(
      issuer: "\"r\"", evidence: NamePatterns([.init(pattern: "*", value: true)]),
      hash: { [UInt8](repeating: UInt8($0.count & 0xFF), count: 32) })
    let store = try PostgresStore(at: try bench.address(), options)
    store.start(observer: QuietObserver())
    func usableFrom() throws -> Int32 {
      var connection = try bench.database.connect()
      return try connection.run([PostgresCommand("SELECT usable_from FROM schema_version")])[0]
        .int32(0, 0)
    }
    _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
    #expect(try usableFrom() == 2)
    var draft = StoreBench.draft(2)
    draft.sequence = 1
    draft.coveredDigest = [UInt8](repeating: 1, count: 32)
    _ = try await store.append([draft], isAtomic: false)
    #expect(try usableFrom() == 5)
    await store.close()
  }

  @Test("are closed to relays that remember no keys once there is one")
  func keys() async throws {
    let bench = try StoreBench()
    let store = try bench.open(QuietObserver())
    func usableFrom() throws -> Int32 {
      var connection = try bench.database.connect()
      return try connection.run([PostgresCommand("SELECT usable_from FROM schema_version")])[0]
        .int32(0, 0)
    }
    _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
    let later = WallTime(millisecondsSinceEpoch: .max)
    for (keys, version) in [(later, Int32(2)), (WallTime(millisecondsSinceEpoch: 0), 6)] {
      let line = try await store.line(after: 0, countMax: 1).entries
      let entry = try #require(line.first)
      store.record([
        Transition(
          serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
          change: .end(.delivered, reason: ""), at: WallTime(millisecondsSinceEpoch: 1), epoch: 1)
      ])
      let cutoffs = RetentionCutoffs(delivered: later, failed: later, keys: keys)
      while try await store.deleteEnded(cutoffs, countMax: 9).deletedCount == 0 {}
      #expect(try usableFrom() == version)
      _ = try await store.append([StoreBench.draft(2)], isAtomic: false)
    }
    await store.close()
  }

  @Test("are expanded while the older relay goes on, which writes on with them")
  func whileUsed() async throws {
    let bench = try StoreBench()
    let store = try bench.open(QuietObserver())
    _ = try await store.append([StoreBench.draft(1)], isAtomic: false)
    var connection = try bench.database.connect()
    try connection.execute(script: Self.contraction)
    // A spare of this version comes: it expands, and waits.
    let isWaiting = AsyncStream.makeStream(of: StoreWait.self)
    let options = StoreBench.options
    let address = try bench.address()
    let spare = Task {
      try await PostgresStore.open(at: address, options) { isWaiting.continuation.yield($0) }
    }
    for await wait in isWaiting.stream {
      #expect(wait == .another(address: nil))
      break
    }
    _ = try await store.append([StoreBench.draft(2)], isAtomic: false)
    await store.close()
    let taken = try #require(try await spare.value)
    taken.start(observer: QuietObserver())
    #expect(try bench.storedKeys() == ["key-1", "key-2"])
    await taken.close()
  }
}
#endif

#if PostgreSQL
import Foundation
import Glibc
import Postgres
import PostgresTesting
import Testing

/// Devices that post by any of three relays on one database, while both lose processes.
struct ClusterTrial {
  private static let devices = 8
  private static let variables = ProcessInfo.processInfo.environment
  /// `WAYSTATION_TEST_SEED` repeats a run.
  static let wantedSeed = variables["WAYSTATION_TEST_SEED"].flatMap { UInt64($0) }
  /// How long the long form takes; nil if nobody has asked for it.
  static let seconds = variables["WAYSTATION_CLUSTER_SECONDS"].flatMap { Double($0) }

  let seed: UInt64
  /// Whether somebody wants to see how far it is.
  let isLong: Bool
  private let database: any DatabasePair
  private let cluster: RelayCluster
  private let upstream: TestUpstream
  private let ledger = ClusterLedger()
  private let trouble = Monitor(0.0)
  private var generator: SeededGenerator

  /// - Parameter servers: Starts the database's servers.
  init(
    seed: UInt64, isLong: Bool = false,
    on servers: @escaping @Sendable () throws -> any DatabasePair = { try PostgresPair() }
  ) async throws {
    self.seed = seed
    self.isLong = isLong
    generator = SeededGenerator(seed: seed)
    database = try await onThread(servers)
    upstream = try TestUpstream()
    let reachability: [String: any Sendable] = ["firstProbeDelayMs": 10, "maxProbeDelayMs": 100]
    cluster = try await RelayCluster(
      3, on: database, for: Relay.quick(upstream, ["reachability": reachability]))
    behave(seed: generator.next())
  }

  /// The upstream answers at once or after a while, and as often as there is to be trouble, it cuts
  /// the connection or answers 503.
  private func behave(seed: UInt64) {
    let generator = Monitor(SeededGenerator(seed: seed))
    upstream.behave { [ledger, trouble] request in
      let share = trouble.read { $0 }
      let behaviour = generator.change { generator -> Behaviour in
        if generator.happens(share) { return generator.happens(0.4) ? .cut : .answer(503) }
        let isSlow = generator.happens(0.4)
        return .answer(200, delayMs: isSlow ? Int.random(in: 1...300, using: &generator) : 0)
      }
      var isAnswered = false
      if case .answer(200, _, _, _) = behaviour { isAnswered = true }
      ledger.arrive(request, isAnswered: isAnswered)
      return behaviour
    }
  }

  /// Goes through the faults that are asked for, one after the other, and looks what is owed.
  ///
  /// - Parameter next: The faults of the next rounds; empty to end.
  func run(_ next: (inout SeededGenerator) -> [ClusterFault]) async throws {
    let again = "to repeat it: WAYSTATION_TEST_SEED=\(seed)"
    do {
      try await cluster.start()
      let witness = EpochWitness(database: cluster.database)
      try await witness.install()
      var devices = try await post(while: next)
      trouble.change { $0 = 0 }
      try await settle(&devices)
      try await look(witness)
    } catch {
      print("\(again)\n\(ledger.figures)\n\(cluster.logs.suffix(20_000))")
      throw error
    }
    for violation in ledger.violations { Issue.record("\(violation); \(again)") }
  }

  // MARK: - What a run consists of

  /// Has the devices post during the faults, and let go of what they hold after them.
  private func post(
    while next: (inout SeededGenerator) -> [ClusterFault]
  ) async throws -> [ClusterDevice] {
    var generator = generator
    let isOver = Monitor(false)
    let devices = (1...Self.devices).map {
      ClusterDevice($0, cluster, ledger, seed: generator.next())
    }
    var faults = ClusterFaults(
      cluster: cluster, ledger: ledger, database: database, trouble: trouble,
      acknowledgements: isLong ? 20 : 10,
      generator: SeededGenerator(seed: generator.next()))
    return try await withThrowingTaskGroup(of: ClusterDevice.self) { group in
      defer { isOver.change { $0 = true } }
      for device in devices { group.addTask { try await device.run(until: isOver) } }
      while case let round = next(&generator), !round.isEmpty {
        for fault in round {
          try await faults.bring(fault)
          if isLong { print("\(fault) is over: \(ledger.figures)") }
        }
      }
      ledger.begin(nil)
      isOver.change { $0 = true }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  /// Waits until all that is owed has arrived.
  private func settle(_ devices: inout [ClusterDevice]) async throws {
    do {
      try await eventually("arrival of all that is owed", seconds: 60) {
        ledger.owed.isEmpty ? true : nil
      }
    } catch is TimeLimitExceeded {
      Issue.record("never arrived: \(ledger.owed.prefix(20)), seed \(seed)")
    }
    for index in devices.indices {
      for difference in try await devices[index].differences() {
        Issue.record("\(difference), seed \(seed)")
      }
    }
  }

  /// Looks at the relays' end, and at what the database has noted.
  private func look(_ witness: EpochWitness) async throws {
    let violations = try await witness.violations()
    #expect(violations.isEmpty, "written under old epochs, seed \(seed)")
    let counts = try await witness.counts()
    #expect(counts.epochs > 1 && counts.statements > 100)
    for relay in cluster.relays { relay.signal(SIGTERM) }
    for relay in cluster.relays {
      #expect(try await relay.ending() == .exit(0), "the end of a relay, seed \(seed)")
    }
    print(
      "cluster oracle, seed \(seed): \(ledger.figures); \(counts.statements) statements wrote, "
        + "under \(counts.epochs) epochs")
  }
}

extension EndToEnd {
  @Suite(
    "An oracle of several relays", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct ClusterOracle {
    static let seed = ClusterTrial.wantedSeed ?? 20261126

    @Test("what was acknowledged arrives in order, whichever relay or database is lost")
    func oracle() async throws {
      var left = [ClusterFault.ofPair]
      try await ClusterTrial(seed: Self.seed).run { generator in
        (left.popLast() ?? []).shuffled(using: &generator)
      }
    }

    @Test(
      "the same where Patroni promotes the standby",
      .enabled(if: PatroniPair.isInstalled, "Patroni or etcd is not installed"))
    func patroni() async throws {
      var left = [[ClusterFault.switchOver, .failOver, .killHolder]]
      try await ClusterTrial(seed: Self.seed, on: { try PatroniPair() }).run { _ in
        left.popLast() ?? []
      }
    }

    @Test("the oracle's triggers notice who writes behind a successor, and who never had the store")
    func witness() async throws {
      let database = try TestDatabase.fresh()
      let relay = try Relay(
        upstreams: ["default": Relay.quick(TestUpstream())],
        environment: ["WAYSTATION_POSTGRES_URL": database.url])
      try await relay.start()
      relay.signal(SIGTERM)
      #expect(try await relay.ending() == .exit(0))
      let witness = EpochWitness(database: DatabaseAsker(url: database.url))
      try await witness.install()
      var former = try database.connect()
      var next = try database.connect()
      let write = PostgresCommand("UPDATE line SET attempts = attempts")
      func taking(_ number: Int64) -> [PostgresCommand] {
        [PostgresCommand("SELECT take_store($1, $1, '{}', '{}')", [.int64(number)])]
      }
      _ = try former.run(taking(1) + [write, PostgresCommand("DELETE FROM seat")])
      _ = try next.run(taking(2) + [write])
      #expect(try await witness.violations().isEmpty)
      #expect(try await witness.counts() == (2, 2))
      _ = try former.run([write])
      #expect(try await witness.violations().count == 1)
      try await witness.database.ask("DELETE FROM line")
      #expect(try await witness.violations().count == 2)
    }
  }
}

/// The same for `WAYSTATION_CLUSTER_SECONDS`, with a seed that nobody has tried before.
@Suite(
  "An oracle of several relays, at length", .serialized, .timeLimit(.minutes(240)),
  .enabled(if: ClusterTrial.seconds != nil, "make cluster-oracle"))
struct LongClusterOracle {
  @Test("what was acknowledged arrives in order, whichever relays and databases are lost")
  func oracle() async throws {
    try await run(ClusterFault.ofPair) { try PostgresPair() }
  }

  @Test(
    "the same where Patroni promotes the standby",
    .enabled(if: PatroniPair.isInstalled, "Patroni or etcd is not installed"))
  func patroni() async throws {
    try await run(ClusterFault.ofPatroni) { try PatroniPair() }
  }

  /// Goes through the faults, again and again, in another order each time.
  private func run(
    _ faults: [ClusterFault], on servers: @escaping @Sendable () throws -> any DatabasePair
  ) async throws {
    let end = Date(timeIntervalSinceNow: ClusterTrial.seconds ?? 0)
    let seed = ClusterTrial.wantedSeed ?? UInt64.random(in: 0..<1 << 32)
    print("cluster oracle: WAYSTATION_TEST_SEED=\(seed) repeats it")
    try await ClusterTrial(seed: seed, isLong: true, on: servers).run { generator in
      Date() < end ? faults.shuffled(using: &generator) : []
    }
  }
}
#endif

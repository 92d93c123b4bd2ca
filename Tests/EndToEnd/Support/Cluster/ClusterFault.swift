#if PostgreSQL
import Foundation
import Glibc
import PostgresTesting

/// What happens to the relays and their database, one at a time.
enum ClusterFault: String {
  /// The relay that has the store is killed, perhaps together with a spare.
  case killHolder
  /// It stands still for longer than its lease, and goes on.
  case freezeHolder
  /// The process of the database that it writes by stands still until it has given that up, and
  /// goes on with what it was told before.
  case freezeSession
  /// It is told to end.
  case drain
  /// A spare is killed.
  case killSpare
  /// The database is killed, perhaps together with the relay that has the store, and its standby
  /// takes its place.
  case failOver
  /// The database stands still while its standby takes its place, and goes on: both say that they
  /// write.
  case thawPrimary
  /// The relay that has the store loses its connections to the database for longer than its lease.
  case cutDatabase
  /// The same, but its connections stay: nothing arrives on them.
  case silenceDatabase
  /// The other relays lose their connections to the one that has the store.
  case cutRelays
  /// The same, but nothing arrives on them.
  case silenceRelays
  /// The standby loses its connection to the database, which may be killed meanwhile.
  case cutStandby
  /// The same, but nothing arrives on it.
  case silenceStandby
  /// Answers of the database are lost on their way to the relay that has the store, those to
  /// commits as well.
  case loseAnswers
  /// Patroni exchanges the database's servers, as operators have it do.
  case switchOver
  /// Patroni loses etcd for longer than its lease: no server writes.
  case loseCoordinator

  /// What happens to servers that the test promotes.
  static let ofPair: [ClusterFault] = [
    .killHolder, .freezeHolder, .freezeSession, .drain, .killSpare, .failOver, .thawPrimary,
    .cutDatabase, .silenceDatabase, .cutRelays, .silenceRelays, .cutStandby, .silenceStandby,
    .loseAnswers,
  ]
  /// What happens to servers that Patroni promotes, each time after its lease of 20 seconds.
  static let ofPatroni: [ClusterFault] = [
    .killHolder, .freezeHolder, .drain, .failOver, .thawPrimary, .cutDatabase, .loseAnswers,
    .switchOver, .loseCoordinator,
  ]
}

/// Brings faults about, and waits until the cluster is whole again after each.
struct ClusterFaults: Sendable {
  let cluster: RelayCluster
  let ledger: ClusterLedger
  let database: any DatabasePair
  /// How much the upstream cuts off and answers with 503, from 0 to 1.
  let trouble: Monitor<Double>
  /// How many acknowledgements there are before and after each fault.
  let acknowledgements: Int
  var generator: SeededGenerator

  /// One round with a fault.
  mutating func bring(_ fault: ClusterFault) async throws {
    let share = trouble(during: fault)
    trouble.change { $0 = share }
    ledger.begin(fault)
    let lapses = cluster.lapseCount
    try await ledger.progress(acknowledgements)
    switch fault {
    case .killHolder: try await killHolder()
    case .freezeHolder: try await freezeHolder()
    case .freezeSession: try await freezeSession()
    case .drain: try await drain()
    case .killSpare: try await killSpare()
    case .failOver: try await failOver()
    case .thawPrimary: try await thawPrimary()
    case .cutDatabase: try await loseDatabase { $0.cut() }
    case .silenceDatabase: try await loseDatabase { $0.fallSilent() }
    case .cutRelays: try await loseRelays { $0.cut() }
    case .silenceRelays: try await loseRelays { $0.fallSilent() }
    case .cutStandby: try await loseStandby { $0.cut() }
    case .silenceStandby: try await loseStandby { $0.fallSilent() }
    case .loseAnswers: try await loseAnswers()
    case .switchOver: try await switchOver()
    case .loseCoordinator: try await loseCoordinator()
    }
    try await ledger.progress(acknowledgements)
    if cluster.lapseCount != lapses { ledger.mix() }
  }

  private mutating func trouble(during fault: ClusterFault) -> Double {
    switch fault {
    // Else it could not be told what the drain has repeated.
    case .drain: 0
    // Many attempts are due when it goes on.
    case .freezeHolder: 0.4
    default: generator.happens(0.6) ? 0.12 : 0
    }
  }

  private mutating func killHolder() async throws {
    let (index, seat) = try await cluster.holder()
    let spare = generator.happens(0.3) ? spare(beside: index) : nil
    for index in [index, spare].compactMap(\.self) { try await killRelay(index) }
    // It comes back before anybody has taken over, or after that.
    let isAtOnce = generator.happens(0.5)
    if isAtOnce { try await cluster.start(index) }
    _ = try await cluster.holder(after: seat)
    if !isAtOnce { try await restart(index) }
    if let spare { try await restart(spare) }
  }

  mutating func spare(beside holder: Int) -> Int? {
    cluster.relays.indices.filter { $0 != holder }.randomElement(using: &generator)
  }

  func killRelay(_ index: Int) async throws {
    cluster.relays[index].signal(SIGKILL)
    try await expect(.signal(SIGKILL), of: index)
  }

  private mutating func freezeHolder() async throws {
    let (index, seat) = try await cluster.holder()
    cluster.relays[index].signal(SIGSTOP)
    // Some posts wait in its sockets until it goes on.
    try await cluster.rest(milliseconds: Int.random(in: 0..<300, using: &generator))
    cluster.takeOut(index)
    _ = try await cluster.holder(after: seat)
    try await ledger.progress(Int.random(in: 0..<acknowledgements, using: &generator))
    cluster.relays[index].signal(SIGCONT)
    try await expect(.exit(1), of: index)
    try await restart(index)
  }

  private func freezeSession() async throws {
    let (index, seat) = try await cluster.holder()
    // Less would be this process and others of its group.
    guard seat.backend > 1 else { throw ProtocolViolation(description: "\(seat) has no process") }
    kill(seat.backend, SIGSTOP)
    // If it has locked the seat's row by then, nobody gets that before it goes on.
    _ = try? await cluster.holder(after: seat, seconds: 6)
    kill(seat.backend, SIGCONT)
    let now = try await cluster.holder(after: seat)
    guard now.index != index else { return }
    try await expect(.exit(1), of: index)
    try await restart(index)
  }

  private func drain() async throws {
    let (index, seat) = try await cluster.holder()
    cluster.relays[index].signal(SIGTERM)
    try await expect(.exit(0), of: index)
    _ = try await cluster.holder(after: seat)
    try await restart(index)
  }

  private mutating func killSpare() async throws {
    guard let index = spare(beside: try await cluster.holder().index) else { return }
    try await killRelay(index)
    try await ledger.progress(acknowledgements)
    try await restart(index)
  }

  private mutating func failOver() async throws {
    let holder = generator.happens(0.4) ? try await cluster.holder().index : nil
    async let promoted: Void = onThread { [database] in try database.failOver() }
    if let holder { try await killRelay(holder) }
    try await promoted
    if database.goesOnAlone {
      try await ledger.progress(acknowledgements)
    } else {
      try await onThread { [database] in try database.addStandby() }
    }
    if let holder { try await restart(holder) }
    try await onThread { [database] in try database.addStandby() }
    // Where the promotion takes longer than a lease, another relay may have the store.
    try await becomeWhole()
  }

  func restart(_ index: Int) async throws {
    try await cluster.start(index)
    try await cluster.relays[index].log(holds: RelayCluster.spareWords)
  }

  func expect(_ wanted: Ending, of index: Int) async throws {
    let ending = try await cluster.ended(index)
    guard ending == wanted else {
      throw ProtocolViolation(
        description: "relay \(index + 1) ended as \(String(describing: ending)), not \(wanted)")
    }
  }
}
#endif

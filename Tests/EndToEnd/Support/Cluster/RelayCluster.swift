#if PostgreSQL
import Foundation
import Glibc
import PostgresTesting

/// Three relays that share a database and pass requests on to each other, and what a balancer in
/// front of them knows.
final class RelayCluster: Sendable {
  /// The relay that has the store, as the database says.
  struct Seat: Sendable, Equatable {
    let incarnation: String
    /// Where other relays reach it.
    let address: String
    /// The number of the database's process that it writes by.
    let backend: Int32
  }

  private struct State {
    /// Where devices reach each relay; nil while it is out of the balancer's list.
    var ports: [UInt16?]
    /// Grows with each change of the list.
    var changes = 0
    /// What relays had logged when they ended.
    var logs: [String] = []
  }

  static let spareWords = "this one waits as a spare"
  static let lapseWords = "nothing is attempted until it can"

  static let holderWords = "line taken up"

  let relays: [Relay]
  let database: DatabaseAsker
  /// Each relay's ways to both servers of the database.
  let databaseLinks: [[LossyProxy]]
  /// The other relays' way to each.
  let relayLinks: [LossyProxy]
  private let state: Monitor<State>

  /// - Parameters:
  ///   - pair: The database's servers.
  ///   - durability: How safe its commits are to be.
  init(
    _ count: Int, on pair: any DatabasePair, for upstream: [String: any Sendable],
    durability: String = "local"
  ) async throws {
    let authority = try await CertificateAuthority(name: "relays")
    database = DatabaseAsker(pair)
    databaseLinks = try (0..<count).map { _ in try pair.ports.map { try LossyProxy(to: $0) } }
    relayLinks = try (0..<count).map { _ in try LossyProxy() }
    state = Monitor(State(ports: [UInt16?](repeating: nil, count: count)))
    var relays: [Relay] = []
    for number in 1...count {
      let pair = try await authority.sign("relay-\(number)", subject: "/CN=relay-\(number)")
      let tls = pair.listener.merging([
        "clientCertificates": ["authorities": authority.certificate]
      ]) { _, given in given }
      let forRelays: [String: any Sendable] = [
        "address": "127.0.0.1:0", "for": "relays", "tls": tls,
        "advertise": "127.0.0.1:\(relayLinks[number - 1].port)",
      ]
      relays.append(
        try Relay(
          upstreams: ["default": upstream],
          more: [
            "shutdownGraceSeconds": 10, "store": ["postgres": ["durability": durability]],
          ],
          listen: ["127.0.0.1:0", forRelays],
          environment: [
            "WAYSTATION_POSTGRES_URL": PostgresPair.url(by: databaseLinks[number - 1].map(\.port)),
            "WAYSTATION_ANONYMOUS": "allow",
          ]))
    }
    self.relays = relays
    self.authority = authority
  }

  /// It has the folder that the relays' certificates are in.
  private let authority: CertificateAuthority

  // MARK: - Starting and ending

  /// Starts all, and waits until the first one has the store.
  func start() async throws {
    for index in relays.indices {
      try await start(index)
      if index == 0 {
        try await relays[0].log(holds: Self.holderWords)
      } else {
        try await relays[index].log(holds: Self.spareWords)
      }
    }
  }

  /// Starts one, also again, and has the balancer know of it.
  func start(_ index: Int) async throws {
    try await relays[index].start()
    relayLinks[index].lead(to: relays[index].port(of: 1))
    let port = relays[index].port(of: 0)
    state.change { state in
      state.ports[index] = port
      state.changes += 1
    }
  }

  /// Has the balancer send nothing more to one.
  func takeOut(_ index: Int) {
    state.change { state in
      state.ports[index] = nil
      state.changes += 1
    }
  }

  /// Waits until one has ended, and takes it out.
  func ended(_ index: Int) async throws -> Ending? {
    let ending = try await relays[index].ending()
    takeOut(index)
    let log = relays[index].log
    state.change { $0.logs.append("relay \(index + 1), \(String(describing: ending)):\n\(log)") }
    return ending
  }

  // MARK: - The balancer

  /// Where any one of the relays in the list is; waits for one.
  func anyPort(using generator: inout SeededGenerator) async throws -> UInt16 {
    let choice = Int.random(in: 0..<relays.count * 1000, using: &generator)
    return try await state.wait("relay in the balancer's list") { state in
      let ports = state.ports.compactMap(\.self)
      return ports.isEmpty ? nil : ports[choice % ports.count]
    }
  }

  /// Lets a device wait as long as it chooses, or until a relay comes or goes.
  func rest(milliseconds: Int) async throws {
    let changes = state.read(\.changes)
    let state = state
    _ = try await onThread {
      state.block(seconds: Double(milliseconds) / 1000) { $0.changes == changes ? nil : true }
    }
  }

  /// Waits until a spare has answered that it cannot reach the relay that has the store.
  ///
  /// It is asked often: what goes by a connection that was there before may get no answer.
  func refuses(_ index: Int) async throws {
    let refusals = Monitor(0)
    for _ in 0..<16 {
      Thread.detachNewThread { [self] in
        if (try? readiness(of: index))?.status == 503 { refusals.change { $0 += 1 } }
      }
    }
    let _: Bool = try await refusals.wait("refusal by a spare") { $0 > 0 ? true : nil }
  }

  /// What a relay answers to whether it can serve; blocks.
  func readiness(of index: Int) throws -> WireResponse {
    let connection = try Connection(port: relays[index].port(of: 0))
    defer { connection.close() }
    try connection.write(Array("GET /readyz HTTP/1.1\r\nHost: relay\r\n\r\n".utf8))
    return try connection.readResponse(to: "GET")
  }

  // MARK: - What the database says

  /// Who has the store now; nil if nobody has.
  func seat() async throws -> Seat? {
    let rows = try await database.ask(
      "SELECT incarnation::text, address, backend::text FROM seat", columns: 3)
    return rows.first.map {
      Seat(incarnation: $0[0], address: $0[1], backend: Int32($0[2]) ?? 0)
    }
  }

  /// Waits until a relay of the list has the store.
  ///
  /// - Parameter former: A seat that does not count.
  func holder(
    after former: Seat? = nil, seconds: Double = 60
  ) async throws -> (index: Int, seat: Seat) {
    try await eventually("relay that has the store", seconds: seconds) {
      guard let seat = try? await self.seat(), seat != former else { return nil }
      let listed = self.state.read(\.ports)
      let index = self.relays.indices.first {
        listed[$0] != nil && seat.address == "127.0.0.1:\(self.relayLinks[$0].port)"
      }
      return index.map { ($0, seat) }
    }
  }

  /// Whether a relay has had the store since it was started.
  func hasHeld(_ index: Int) -> Bool { relays[index].log.contains(Self.holderWords) }

  /// How often a relay could not reach the database in time; to be asked while all of them run.
  var lapseCount: Int { logs.components(separatedBy: Self.lapseWords).count - 1 }

  /// What all relays have logged.
  var logs: String {
    (state.read(\.logs) + relays.enumerated().map { "relay \($0 + 1):\n\($1.log)" })
      .joined(separator: "\n")
  }
}
#endif

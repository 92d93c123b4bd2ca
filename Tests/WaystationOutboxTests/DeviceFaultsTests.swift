import Glibc
import Testing

@testable import WaystationOutbox

/// Thousands of devices, each through faults of its own.
@Suite("A device, its relay and its upstream")
struct DeviceFaultsTests {
  /// The seeds of `make test`; `make simulate-devices` tries others.
  private static let seeds = getenv("OUTBOX_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 25
  private static let first = getenv("OUTBOX_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1

  @Test("lose nothing, double nothing and keep the order, whatever happens in between")
  func holds() throws { try run(isScheduled: false) }

  @Test("do so as well with the rules and the scheduler of a real relay, which is killed")
  func holdsOnBothSides() throws { try run(isScheduled: true) }

  private func run(isScheduled: Bool) throws {
    var (postsAhead, statements) = (0, 0)
    for seed in Self.first..<(Self.first + Self.seeds) {
      let folder = try TemporaryFolder()
      let simulation = try Simulation(seed: seed, folder: folder.path, isScheduled: isScheduled)
      try simulation.run()
      let violations = try simulation.violations()
      #expect(
        violations.isEmpty,
        "OUTBOX_SEED=\(seed): \(violations.prefix(5)); faults: \(simulation.faults.suffix(100))")
      if !violations.isEmpty { return }
      postsAhead += simulation.postsAhead
      statements += simulation.statements.values.reduce(0) { $0 + $1.count }
    }
    #expect(statements > 0 || Self.seeds < 25, "nothing was signed")
    #expect(postsAhead > 0 || Self.seeds < 25, "no post was put together ahead")
  }
}

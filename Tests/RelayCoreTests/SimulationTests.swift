import Foundation
import RelayCore
import Testing

@testable import StoreModel

@Suite("Years of outages in seconds")
struct SimulationTests {
  /// These runs are made each time.
  private static let fixedSeeds: [UInt64] = [6, 8, 9, 21]

  /// `SIMULATION_SEED` makes another run alone, or replays it; `SIMULATION_SEEDS` makes so many
  /// that nobody has made before; `SIMULATION_FRESH_SEED` makes one beside the others.
  static let seeds: [UInt64] = {
    if let seed = seed(named: "SIMULATION_SEED") { return [seed] }
    if let count = seed(named: "SIMULATION_SEEDS") {
      return (0..<count).map { _ in UInt64.random(in: 0..<1 << 32) }
    }
    return fixedSeeds + [seed(named: "SIMULATION_FRESH_SEED")].compactMap(\.self)
  }()

  private static func seed(named name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  @Test("every promise holds through crashes, outages and refusals", arguments: seeds)
  func promisesHold(seed: UInt64) {
    var simulation = Simulation(seed: seed)
    simulation.run(events: 25_000)
    #expect(
      simulation.violations.isEmpty,
      "replay with: make simulate SEED=\(seed)\n\(simulation.violations.joined(separator: "\n"))")
    #expect(simulation.eventCount >= 25_000)
    // That everything happens in a run is known of these, and is likely of any other.
    if Self.fixedSeeds.contains(seed) { expectVariety(of: simulation) }
  }

  private func expectVariety(of simulation: Simulation) {
    #expect(simulation.attemptCount > 1000 && simulation.crashCount > 3)
    #expect(simulation.commandCount > 100 && simulation.pauseCount > 10)
    #expect(simulation.configurationCount > 10)
    #expect(simulation.parkedCount > 50 && simulation.placedCount > 20)
    #expect(simulation.skipCount > 0 && simulation.voidCount > 5)
    #expect(simulation.isSharded ? simulation.shardMoveCount > 20 : simulation.runCount > 10)
    #expect(simulation.coalescedCount > 30)
    #expect(simulation.unwrittenCount > 10 && simulation.unwrittenQuarantineCount > 0)
    #expect(simulation.clearedCount > 10 && simulation.partClearedCount > 3)
    #expect(simulation.deleted.count > 100)
    #expect(simulation.batchCount > 100 && simulation.endedChangeCount > 0)
    #expect(simulation.rememberedCount > 0)
    #expect(simulation.verificationCount > 0)
    #expect(simulation.batchedCount > 100 && simulation.halvedCount > 0)
    #expect(simulation.clockLeapCount > 3 || simulation.seed % 4 != 0)
  }

  @Test("the same seed gives the same run")
  func runsRepeat() {
    let runs = (0..<2).map { _ in
      var simulation = Simulation(seed: 42)
      simulation.run(events: 2000)
      return [
        simulation.eventCount, simulation.attemptCount, Int(simulation.store.given.lastSerial),
      ]
    }
    #expect(runs[0] == runs[1])
  }
}

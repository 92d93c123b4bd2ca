import Foundation
import RelayCore
import Testing

@Suite("Leases: everything that can happen, step by step")
struct LeaseExplorationTests {
  /// The states that are looked at from each beginning; `LEASE_STATES` changes it.
  private static let statesMax = number(named: "LEASE_STATES") ?? 1500

  static func number(named name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }

  @Test("no order of steps breaks a promise", arguments: LeaseBeginning.allCases)
  func explore(beginning: LeaseBeginning) {
    // Everything at once is too much: so few faults and long ways, or many faults and short ones.
    for (isFine, faultsMax) in [(false, 0), (false, 2), (true, 0), (true, 3)] {
      var exploration = LeaseExploration(
        from: beginning.world, isFine: isFine, faultsMax: faultsMax)
      exploration.run(statesMax: Self.statesMax)
      print(
        "leases from \(beginning), \(isFine ? "fine" : "coarse"), up to \(faultsMax) faults: "
          + "\(exploration.stateCount) states, all of depth \(exploration.completeDepth)")
      #expect(exploration.counterexample == nil, "\(exploration.counterexample ?? "")")
      #expect(exploration.stateCount >= Self.statesMax && exploration.completeDepth >= 2)
    }
  }
}

/// A state to explore from.
enum LeaseBeginning: CaseIterable {
  case twoStart, settled, almostTakenOver, beforeMoves, amidMove, draining, lateAnswer

  var world: LeaseWorld {
    var limits = LeaseLimits()
    limits.shardCount = 2
    var world = LeaseWorld(names: ["a", "b"], limits: limits)
    world.start(0)
    if self == .beforeMoves || self == .amidMove { world.calm(forMs: 5000) }
    // Alarms of both at one moment would hide what may come between them.
    world.calm(forMs: 300)
    world.start(1)
    switch self {
    case .twoStart: break
    case .settled: world.calm(forMs: 25_000)
    case .almostTakenOver:
      world.calm(forMs: 25_000)
      world.take(.freeze(1))
      world.passRounds(while: { $0.nowMs < 27_400 })
    case .beforeMoves: world.calm(forMs: limits.stableMs - limits.beatMs)
    case .amidMove:
      // The move waits for an attempt, and its target is about to be given up.
      world.calm(forMs: limits.stableMs - limits.beatMs)
      for shard in 0..<2 { world.take(.begin(0, shard)) }
      world.passRounds(while: { $0.nodes[0].settling.isEmpty })
      world.take(.freeze(1))
      let end = world.nowMs + 1500
      world.passRounds(while: { $0.nowMs < end })
    case .lateAnswer: world.answerLate()
    case .draining:
      world.calm(forMs: 25_000)
      for shard in 0..<2 where world.mayStart(0, shard) {
        world.take(.begin(0, shard))
      }
      world.take(.drain(0))
    }
    return world
  }
}

extension LeaseWorld {
  /// A beat is answered late, and is the last one; the other relay has counted for almost the TTL.
  fileprivate mutating func answerLate() {
    calm(forMs: 25_000)
    while nodes[0].exchanges[.beats] == nil {
      take(.timePasses)
      take(.converse(1))
    }
    let sentMs = nowMs
    take(.carryOut(0, .beats))
    func isToGoOn(_ world: Self, untilMs: Int64) -> Bool {
      world.nextAlarmMs.map { $0 < sentMs + untilMs } ?? false
    }
    while isToGoOn(self, untilMs: 1500) {
      take(.carryOut(0, .calls))
      take(.answer(0, .calls))
      take(.timePasses)
      take(.converse(1))
    }
    take(.moment)
    take(.answer(0, .beats))
    while isToGoOn(self, untilMs: 2900) {
      take(.timePasses)
      take(.converse(1))
    }
  }
}

/// A walk through all states, those of few steps first.
struct LeaseExploration {
  private struct Visit {
    let world: LeaseWorld
    let faults: Int
    let path: [LeaseStep]
  }

  private var frontier: [Visit]
  private var seen: Set<Int> = []
  private let isFine: Bool
  private let faultsMax: Int
  /// The states that were reached.
  var stateCount: Int { seen.count }
  /// The number of steps within which everything was reached.
  private(set) var completeDepth = 0
  /// A promise that was broken, and how.
  private(set) var counterexample: String?

  init(from world: LeaseWorld, isFine: Bool, faultsMax: Int) {
    frontier = [Visit(world: world, faults: 0, path: [])]
    self.isFine = isFine
    self.faultsMax = faultsMax
  }

  mutating func run(statesMax: Int) {
    while !frontier.isEmpty, counterexample == nil {
      var next: [Visit] = []
      for visit in frontier {
        for step in visit.world.steps(isFine: isFine) {
          guard seen.count < statesMax, counterexample == nil else { return }
          if let reached = follow(step, from: visit) { next.append(reached) }
        }
      }
      frontier = next
      completeDepth += 1
    }
  }

  private mutating func follow(_ step: LeaseStep, from visit: Visit) -> Visit? {
    let faults = visit.faults + (step.isFault ? 1 : 0)
    guard faults <= faultsMax else { return nil }
    var world = visit.world
    world.take(step)
    var hasher = Hasher()
    hasher.combine(world)
    hasher.combine(faults)
    guard seen.insert(hasher.finalize()).inserted else { return nil }
    let path = visit.path + [step]
    // What becomes of it in calm takes long to find out.
    var end = world
    if seen.count % 128 == 0 { end.checkCalm() }
    if let violation = end.violations.first {
      counterexample = "\(violation)\nafter: " + path.map { "\($0)" }.joined(separator: "\n")
    }
    return Visit(world: world, faults: faults, path: path)
  }
}

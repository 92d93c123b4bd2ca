import RelayCore
import Testing

@Suite("Leases: long walks at random")
struct LeaseWalkTests {
  /// `LEASE_SEED` makes one walk alone; `LEASE_SEEDS` makes so many that nobody has made before.
  static let seeds: [UInt64] = {
    if let seed = LeaseExplorationTests.number(named: "LEASE_SEED") { return [UInt64(seed)] }
    if let count = LeaseExplorationTests.number(named: "LEASE_SEEDS") {
      return (0..<count).map { _ in UInt64.random(in: 0..<1 << 32) }
    }
    return Array(1...100)
  }()

  @Test("three relays keep every promise, in any order of steps")
  func walk() {
    var sum = LeaseFigures()
    for seed in Self.seeds {
      var walk = LeaseWalk(seed: seed)
      walk.run(steps: 300)
      #expect(
        walk.world.violations.isEmpty,
        "replay with LEASE_SEED=\(seed): \(walk.world.violations.prefix(3))")
      sum.add(walk.world.figures)
    }
    guard Self.seeds.count >= 100 else { return }
    #expect(sum.takenOver > 100 && sum.cutOff > 100 && sum.raised > 100, "\(sum)")
    #expect(sum.handedOver > 100 && sum.drained > 20, "\(sum)")
  }
}

extension LeaseFigures {
  mutating func add(_ other: Self) {
    raised += other.raised
    settled += other.settled
    resumed += other.resumed
    handedOver += other.handedOver
    cutOff += other.cutOff
    drained += other.drained
    takenOver += other.takenOver
  }
}

/// Steps at random, and calm now and then.
struct LeaseWalk {
  private(set) var world: LeaseWorld
  private var random: SplitMix64
  /// A connection on which nothing gets on for a while, and whose requests it is that are stuck.
  private var stuck: (place: Int, line: LeaseWorld.Line, isRequest: Bool)?

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    var limits = LeaseLimits()
    limits.shardCount = 8
    // Some have the same name by mistake.
    world = LeaseWorld(names: seed % 4 == 0 ? ["a", "a", "c"] : ["a", "b", "c"], limits: limits)
    if seed % 2 == 0 { setClocks() }
    for place in 0..<3 {
      world.start(place)
      world.calm(forMs: Int64.random(in: 0...700, using: &random))
    }
  }

  /// Clocks show whatever they like, and run up to a fifth faster than others.
  private mutating func setClocks() {
    for place in 0..<3 {
      world.nodes[place].clockOffsetMs = Int64.random(in: 0...1_000_000, using: &random)
      world.nodes[place].clockPercent = Int64.random(in: 90...108, using: &random)
    }
  }

  mutating func run(steps: Int) {
    // A walk has times of much trouble and of little.
    var troublePercent = 10
    for number in 0..<steps where world.violations.isEmpty {
      if number % 50 == 0 { troublePercent = [0, 3, 10, 30].randomElement(using: &random) ?? 0 }
      if number % 25 == 0 { chooseStuck() }
      if number % 100 == 99 {
        world.calm(forMs: Int64.random(in: 0...15_000, using: &random))
      }
      step(troublePercent: troublePercent)
    }
    if world.violations.isEmpty { world.checkCalm() }
  }

  private mutating func chooseStuck() {
    stuck = nil
    guard Bool.random(using: &random),
      let line = LeaseWorld.Line.allCases.randomElement(using: &random)
    else {
      return
    }
    let place = Int.random(in: 0..<3, using: &random)
    stuck = (place, line, Bool.random(using: &random))
  }

  private func isStuck(_ step: LeaseStep) -> Bool {
    guard let stuck else { return false }
    return switch step {
    case .carryOut(stuck.place, stuck.line): stuck.isRequest
    case .answer(stuck.place, stuck.line): !stuck.isRequest
    case .converse(stuck.place): world.nodes[stuck.place].exchanges[stuck.line] != nil
    default: false
    }
  }

  private mutating func step(troublePercent: Int) {
    let isTrouble = Int.random(in: 0..<100, using: &random) < troublePercent
    let all = world.steps(isFine: true).filter { $0.isFault == isTrouble && !isStuck($0) }
    let talks = all.filter {
      if case .converse = $0 { true } else { false }
    }
    switch Int.random(in: 0..<8, using: &random) {
    case 0...1 where all.contains(.timePasses): world.take(.timePasses)
    case 2...3 where !talks.isEmpty: takeAny(of: talks)
    default: takeAny(of: all)
    }
  }

  private mutating func takeAny(of steps: [LeaseStep]) {
    guard let step = steps.randomElement(using: &random) else { return }
    // A drain is an end, so it is rare.
    if case .drain = step, Int.random(in: 0..<40, using: &random) > 0 { return }
    world.take(step)
  }
}

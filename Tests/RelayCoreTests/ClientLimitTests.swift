import Testing

@testable import RelayCore

@Suite("Upstreams that limit single clients, or everybody")
struct ClientLimitTests {
  /// A rate that an upstream holds requests to.
  struct Limit {
    var perSecond: Double
    var burst: Double
    private var tokens: Double?

    init(perSecond: Double, burst: Double) { (self.perSecond, self.burst) = (perSecond, burst) }

    mutating func take() -> Bool {
      guard tokens ?? burst >= 1 else { return false }
      tokens = (tokens ?? burst) - 1
      return true
    }
    mutating func pass(ms: Double) {
      tokens = min(burst, (tokens ?? burst) + perSecond * ms / 1000)
    }
  }

  /// Devices that post at random, and an upstream that answers each request after some time.
  struct World {
    /// The number of the client that is limited for itself, or the first of them.
    static let evil: Int64 = 1000

    var relay: ManualRelay
    var random: SplitMix64
    var upstream: Limit?
    var client: Limit?
    var waitSeconds = 1
    /// The share of what limited clients post that is refused for what it is.
    var spoiltShare = 0.0
    var status = 429
    /// Answers that are under way, with the time at which they come.
    private var due: [(at: Int64, began: Int64, serial: Serial)] = []
    private var begun: Set<Serial> = []
    private var timeMs: Int64 = 0
    private var clients: [Serial: Int64] = [:]
    private var spoilt: Set<Serial> = []
    private(set) var posted = 0
    private(set) var taken = 0
    private(set) var refused = 0
    private(set) var evilPosted = 0
    private(set) var evilRefused = 0

    init(seed: UInt64, concurrency: Int = 64) {
      relay = ManualRelay(policy: .manual.concurrency(concurrency), seed: seed)
      random = SplitMix64(seed: seed)
    }

    var waiting: Int { relay.line.count { $0.client.rawValue < Self.evil } }
    var perSecond: Double? {
      relay.scheduler.upstreams[ManualRelay.upstream]?.pace.perSecond(at: relay.clock.monotonic)
    }

    mutating func post(client: Int64, lane: Int64) {
      let isSpoilt =
        client >= Self.evil && Double.random(in: 0..<1, using: &random) < spoiltShare
      // What is refused for what it is has a lane of its own.
      let serial = relay.accept(
        lane: isSpoilt ? 10_000_000 + Int64(evilPosted) : lane, client: client)
      if isSpoilt { spoilt.insert(serial) }
      clients[serial] = client
      if client < Self.evil { posted += 1 } else { evilPosted += 1 }
    }

    /// Time goes on by a step of 5 ms.
    mutating func step() {
      timeMs += 5
      relay.pass(ms: 5)
      upstream?.pass(ms: 5)
      client?.pass(ms: 5)
      for entry in relay.inFlight where begun.insert(entry.serial).inserted {
        due.append((timeMs + Int64.random(in: 1...20, using: &random), timeMs, entry.serial))
      }
      let ended = due.filter { $0.at <= timeMs }
      due.removeAll { $0.at <= timeMs }
      for end in ended { answer(end.serial, durationMs: timeMs - end.began) }
      relay.commit()
    }

    private mutating func answer(_ serial: Serial, durationMs: Int64) {
      begun.remove(serial)
      let isEvil = clients[serial, default: 0] >= Self.evil
      let isTaken =
        !spoilt.contains(serial) && (!isEvil || client?.take() ?? true) && upstream?.take() ?? true
      switch (isEvil, isTaken) {
      case (false, true): taken += 1
      case (false, false): refused += 1
      case (true, false): evilRefused += 1
      case (true, true): break
      }
      relay.answer(
        serial, status: isTaken ? 200 : status, retryAfter: isTaken ? nil : String(waitSeconds),
        durationMs: durationMs)
    }

    /// Devices post for some time: 50 of them, and one, or several, with many lanes.
    mutating func run(
      seconds: Int, goodPerStep: Double, evilPerStep: Double, lanes: Int64 = 8, evils: Int64 = 1
    ) {
      for _ in 0..<(seconds * 200) {
        if Double.random(in: 0..<1, using: &random) < goodPerStep {
          let number = Int64.random(in: 1...50, using: &random)
          post(client: number, lane: number)
        }
        if Double.random(in: 0..<1, using: &random) < evilPerStep {
          let number = Self.evil + Int64.random(in: 0..<evils, using: &random)
          post(client: number, lane: number * 1000 + Int64.random(in: 0..<lanes, using: &random))
        }
        step()
      }
    }
  }

  @Test(
    "a client with many lanes that is refused for itself holds up hardly anybody",
    arguments: [429, 503], [(8, 1), (500, 1), (1, 1), (8, 2)] as [(Int64, Int64)])
  func oneClient(status: Int, shape: (lanes: Int64, clients: Int64)) {
    for seed in 1...2 as ClosedRange<UInt64> {
      var world = World(seed: seed)
      world.client = Limit(perSecond: 0, burst: 0)
      world.status = status
      world.run(
        seconds: 30, goodPerStep: 0.9, evilPerStep: 0.4, lanes: shape.lanes, evils: shape.clients)
      let isFast = world.waiting < 60 && world.taken > world.posted - 60
      #expect(isFast, "\(seed): \(world.taken) of \(world.posted), now \(world.perSecond ?? -1)")
    }
  }

  @Test(
    "a client that is limited to a rate of its own is found, too", arguments: [1, 10] as [Double])
  func clientsRate(perSecond: Double) {
    for seed in 1...2 as ClosedRange<UInt64> {
      var world = World(seed: seed)
      world.client = Limit(perSecond: perSecond, burst: 5)
      world.run(seconds: 60, goodPerStep: 0.9, evilPerStep: 0.4)
      #expect(
        world.waiting < 60,
        "\(seed): \(world.taken) of \(world.posted), now \(world.perSecond ?? -1)")
    }
  }

  @Test(
    "several clients that are limited from a start on hold up few of the others",
    arguments: [(5, 5, 0.01, 0.005), (20, 1, 0.1, 0.02)] as [(Int64, Int, Double, Double)])
  func severalClients(shape: (clients: Int64, wait: Int, good: Double, evil: Double)) {
    for seed in 1...3 as ClosedRange<UInt64> {
      var world = World(seed: seed)
      world.client = Limit(perSecond: 0, burst: 0)
      world.waitSeconds = shape.wait
      world.run(
        seconds: 60, goodPerStep: shape.good, evilPerStep: shape.evil, lanes: 1_000_000,
        evils: shape.clients)
      let isFast = world.waiting <= 2 && world.perSecond.map { $0 > 20 } ?? true
      #expect(isFast, "\(seed): \(world.taken) of \(world.posted), now \(world.perSecond ?? -1)")
    }
  }

  @Test(
    "a client that is mostly taken, and refused for some of what it sends, is found",
    arguments: [0.25, 0.025])
  func mostlyTaken(perStep: Double) {
    for seed in 1...3 as ClosedRange<UInt64> {
      var world = World(seed: seed)
      world.spoiltShare = 0.005 / perStep
      world.waitSeconds = 5
      world.run(seconds: 40, goodPerStep: 0.0125, evilPerStep: perStep, lanes: 10)
      let taken = world.taken
      world.run(seconds: 20, goodPerStep: 0.0125, evilPerStep: perStep, lanes: 10)
      #expect(
        world.waiting <= 2 && world.taken - taken > 25,
        "\(seed): \(world.taken) of \(world.posted), now \(world.perSecond ?? -1)")
    }
  }

  @Test("a limit of everybody's without room for bursts is nobody's own, with more than it takes")
  func withoutBurst() {
    for seed in 1...3 as ClosedRange<UInt64> {
      var world = World(seed: seed)
      world.upstream = Limit(perSecond: 20, burst: 1)
      world.run(seconds: 60, goodPerStep: 0.15, evilPerStep: 0)
      #expect(
        world.refused <= 40 && world.taken > 400, "\(seed): \(world.taken), \(world.refused)")
    }
  }

  @Test("a wait of a minute for one client is the others' once at most")
  func longWait() {
    var world = World(seed: 1)
    world.client = Limit(perSecond: 0, burst: 0)
    world.waitSeconds = 60
    world.run(seconds: 240, goodPerStep: 0.2, evilPerStep: 0.1)
    #expect(world.waiting < 60, "\(world.taken) of \(world.posted)")
  }

  @Test(
    "an upstream's own limit is recognised, however many clients there are",
    arguments: [20, 100] as [Double], [1, 20] as [Double])
  func everybody(perSecond: Double, burst: Double) {
    for clients in [1, 2, 50, 600] as [Int64] {
      var world = World(seed: UInt64(clients))
      world.upstream = Limit(perSecond: perSecond, burst: burst)
      for number in 0..<600 as Range<Int64> {
        world.post(client: 1 + number % clients, lane: 1 + number)
      }
      for _ in 0..<30_000 where world.taken < 600 { world.step() }
      #expect(world.refused <= 130 && world.taken == 600, "\(clients) clients: \(world.refused)")
    }
  }

  @Test("of two limits each is kept to: the client's holds the client, the upstream's everybody")
  func both() {
    for seed in 1...5 as ClosedRange<UInt64> {
      var world = World(seed: seed)
      world.client = Limit(perSecond: 1, burst: 1)
      world.upstream = Limit(perSecond: 50, burst: 10)
      world.run(seconds: 60, goodPerStep: 0.15, evilPerStep: 0.4)
      #expect(
        world.waiting < 100 && world.refused < 60,
        "\(seed): \(world.taken) of \(world.posted), \(world.refused) refused")
      // More than the upstream takes.
      world.run(seconds: 30, goodPerStep: 0.5, evilPerStep: 0.4)
      #expect(
        world.taken > 60 * 30 + 30 * 30 && world.refused < 250,
        "\(seed): \(world.taken) of \(world.posted), \(world.refused) refused")
    }
  }
}

@Suite("Requests of several clients that are refused for one of them")
struct ClientLimitBatchTests {
  private static let evil: Int64 = 9

  /// Eight clients with an envelope each, of which all go in one request.
  private static func relay() -> ManualRelay {
    var policy = UpstreamPolicy.manual
    policy.batch = BatchPolicy(itemsMax: 100, lingerMs: 0)
    var relay = ManualRelay(policy: policy)
    relay.scheduler.setPaused(true, .upstream(ManualRelay.upstream), now: relay.clock)
    for client in 2...evil { relay.accept(lane: client) }
    relay.scheduler.setPaused(false, .upstream(ManualRelay.upstream), now: relay.clock)
    relay.take()
    return relay
  }

  /// Answers what is under way: 429 for requests with the client's envelopes in them.
  ///
  /// - Returns: The number of others' envelopes that were refused.
  private static func answer(_ relay: inout ManualRelay) -> Int {
    var refused = 0
    // An envelope's last request is the one that is under way.
    let requests = Set(
      relay.inFlight.compactMap { entry in
        relay.together.lastIndex { $0.contains(entry.serial) }
      })
    for serials in requests.sorted().map({ relay.together[$0] }) {
      let clients = relay.line.filter { serials.contains($0.serial) }.map(\.client.rawValue)
      let isRefused = clients.contains(evil)
      refused += isRefused ? clients.count { $0 != evil } : 0
      relay.answer(serials, statuses: [isRefused ? 429 : 200])
    }
    relay.commit()
    return refused
  }

  @Test("they are parted by clients until it is found, and then it goes by itself")
  func found() {
    var relay = Self.relay()
    #expect(relay.together.map(\.count) == [8])
    for _ in 0..<400 {
      _ = Self.answer(&relay)
      relay.pass(ms: 100)
    }
    #expect(relay.line.map(\.client.rawValue) == [Self.evil])
    var refused = 0
    for round in 0..<400 {
      if round % 4 == 0 { for client in 2...Self.evil { relay.accept(lane: client) } }
      if round % 10 == 0 { relay.accept(lane: 100 + Int64(round % 7), client: Self.evil) }
      let count = Self.answer(&relay)
      refused += round < 200 ? 0 : count
      relay.pass(ms: 100)
    }
    #expect(refused <= 20)
    #expect(relay.line.count { $0.client.rawValue != Self.evil } < 20)
  }

  @Test("a part that is refused while the other one is taken holds nobody else")
  func parts() {
    var relay = Self.relay()
    var waits = 0
    var wasHeld = false
    for _ in 0..<600 where relay.line.count > 1 {
      _ = Self.answer(&relay)
      let pace = relay.scheduler.upstreams[ManualRelay.upstream]?.pace
      let isHeld = pace?.heldUntil(at: relay.clock.monotonic) != nil
      waits += isHeld && !wasHeld ? 1 : 0
      wasHeld = isHeld
      relay.pass(ms: 100)
    }
    #expect(relay.line.count == 1 && waits <= 2, "\(waits)")
  }

  @Test("a request of one client's envelopes is not parted")
  func one() {
    var policy = UpstreamPolicy.manual
    policy.batch = BatchPolicy(itemsMax: 100, lingerMs: 0)
    var relay = ManualRelay(policy: policy)
    relay.scheduler.setPaused(true, .upstream(ManualRelay.upstream), now: relay.clock)
    for lane in 1...8 { relay.accept(lane: Int64(lane), client: 1) }
    relay.scheduler.setPaused(false, .upstream(ManualRelay.upstream), now: relay.clock)
    relay.take()
    relay.answer(relay.together[0], statuses: [429])
    relay.commit()
    #expect(relay.scheduler.batches.portions.isEmpty)
  }
}

@testable import RelayCore

/// Relays, each with a lease book, on one database: a state of all of it, and what can happen next.
///
/// Each relay has a clock of its own. Requests and answers take any time, get lost, and are carried
/// out after nobody waits for them any more.
struct LeaseWorld: Hashable {
  /// A connection of a relay to the database.
  enum Line: Hashable, CaseIterable { case beats, calls }

  /// A request on its way, or its answer.
  enum Exchange: Hashable {
    case request(LeaseAction)
    case answer(LeaseEvent)
  }

  /// A relay.
  struct Node: Hashable {
    let name: String
    /// The reading of its clock when the world begins, and how fast it runs.
    var clockOffsetMs: Int64 = 0
    var clockPercent: Int64 = 100
    /// The time, by its clock, at which it last learned that a beat of its own had failed.
    var troubleAt: MonotonicTime?
    /// Nil while its process does not run.
    var book: LeaseBook?
    var isFrozen = false
    var exchanges: [Line: Exchange] = [:]
    /// The shards with an attempt under way.
    var attempts: Set<Int> = []
    /// The shards of which the end of the attempts is to be told.
    var settling: Set<Int> = []
    var random: CountingRandom
  }

  let limits: LeaseLimits
  var nowMs: Int64 = 0
  var tables: LeaseTables
  var nodes: [Node]
  /// Requests that nobody waits for any more, and that the database may still carry out.
  var strays: [LeaseAction] = []
  /// Everybody who ever held a shard, with the epoch.
  var holders: [ShardLease: Incarnation] = [:]
  /// Every lease that a relay began to use.
  var used: Set<ShardLease> = []
  /// The first promises that were broken.
  var violations: [String] = []
  /// What happened, to show that it does.
  var figures = LeaseFigures()

  /// What a relay's clock shows now.
  func now(at place: Int) -> MonotonicTime {
    let ms = nodes[place].clockOffsetMs + nowMs * nodes[place].clockPercent / 100
    return MonotonicTime(nanoseconds: ms * 1_000_000)
  }

  /// The world's time at which a relay's clock shows a time.
  func timeMs(of time: MonotonicTime, at place: Int) -> Int64 {
    let ms = time.nanoseconds / 1_000_000 - nodes[place].clockOffsetMs
    let percent = nodes[place].clockPercent
    return (ms * 100 + percent - 1) / percent
  }

  /// Whether a relay may start an attempt of a shard.
  func mayStart(_ place: Int, _ shard: Int) -> Bool {
    nodes[place].book?.mayStart(shard, at: now(at: place)) ?? false
  }

  init(names: [String], limits: LeaseLimits) {
    self.limits = limits
    tables = LeaseTables(shardCount: limits.shardCount)
    nodes = names.enumerated().map { place, name in
      Node(name: name, random: CountingRandom(first: UInt64(place + 1) * 1_000_000))
    }
  }

  static func == (left: Self, right: Self) -> Bool {
    left.nowMs == right.nowMs && left.tables == right.tables && left.nodes == right.nodes
      && left.strays == right.strays
  }

  /// Everything that decides what can happen next.
  func hash(into hasher: inout Hasher) {
    hasher.combine(nowMs)
    hasher.combine(tables)
    hasher.combine(nodes)
    hasher.combine(strays)
  }

  // MARK: - Books

  /// Hands an event to a relay's book, and carries out what it asks for.
  mutating func tell(_ place: Int, _ event: LeaseEvent) {
    var events = [event]
    while !events.isEmpty {
      let event = events.removeFirst()
      var node = nodes[place]
      guard var book = node.book else { return }
      if event == .beatFailed { node.troubleAt = now(at: place) }
      let actions = book.handle(event, at: now(at: place), random: &node.random)
      node.book = book
      nodes[place] = node
      for action in actions { events += act(place, action) }
    }
  }

  /// Carries out an action.
  ///
  /// - Returns: What the book is told of it at once.
  private mutating func act(_ place: Int, _ action: LeaseAction) -> [LeaseEvent] {
    switch action {
    case .beat: send(place, .beats, action)
    case .call(let call):
      checkCall(place, call)
      send(place, .calls, action)
    case .lead(let lease): use(lease)
    case .raise(let lease):
      figures.raised += 1
      use(lease)
    case .settle(let shard):
      figures.settled += 1
      if !nodes[place].attempts.contains(shard) { return [.settled(shard)] }
      nodes[place].settling.insert(shard)
    case .freeze(let shard): return [.frozen(shard)]
    case .resume(let shard):
      figures.resumed += 1
      nodes[place].settling.remove(shard)
    case .handedOver(let shards):
      figures.handedOver += shards.count
      if !nodes[place].attempts.isDisjoint(with: shards) { violated("a handover cut an attempt") }
    case .lost(let shards): cutOff(place, shards)
    case .cutOff:
      figures.cutOff += 1
      cutOff(place, Array(0..<limits.shardCount))
    case .drained:
      figures.drained += 1
      if !nodes[place].attempts.isEmpty { violated("a drain cut an attempt") }
      stop(place)
    }
    return []
  }

  /// What was begun under a lease could be written later on, if it were used again.
  private mutating func use(_ lease: ShardLease) {
    if !used.insert(lease).inserted { violated("a lease is used twice") }
  }

  private mutating func send(_ place: Int, _ line: Line, _ action: LeaseAction) {
    if nodes[place].exchanges[line] != nil { violated("two requests at once on one connection") }
    nodes[place].exchanges[line] = .request(action)
  }

  private mutating func cutOff(_ place: Int, _ shards: [Int]) {
    nodes[place].attempts.subtract(shards)
    nodes[place].settling.subtract(shards)
  }

  /// Ends a relay's process; what it has sent may still arrive.
  mutating func stop(_ place: Int) {
    for line in Line.allCases { leaveToChance(place, line) }
    nodes[place].book = nil
    nodes[place].troubleAt = nil
    nodes[place].isFrozen = false
    cutOff(place, Array(0..<limits.shardCount))
  }

  /// Drops a connection: a request on it may still be carried out.
  mutating func leaveToChance(_ place: Int, _ line: Line) {
    if case .request(let action) = nodes[place].exchanges[line], action != .call(.read) {
      strays.append(action)
    }
    nodes[place].exchanges[line] = nil
  }

  mutating func start(_ place: Int) {
    nodes[place].book = LeaseBook(relay: nodes[place].name, version: "1", limits: limits)
    tell(place, .timePassed)
  }

  // MARK: - The database

  /// Has the database carry out a request.
  ///
  /// - Returns: Its answer.
  mutating func carryOut(_ action: LeaseAction) -> LeaseEvent {
    let before = tables
    let answer: LeaseEvent
    switch action {
    case .beat(let seat, let beats, let isDraining):
      let isThere = tables.beat(seat, beats: beats, isDraining: isDraining)
      answer = isThere ? .beatSucceeded : .beatRefused
    case .call(let call):
      answer = tables.carryOut(call)
      if case .claim(_, let dead, _) = call {
        for row in dead
        where before.seats[row.incarnation] != nil && tables.seats[row.incarnation] == nil {
          checkTakenOver(row.incarnation)
        }
      }
    default: preconditionFailure("no request: \(action)")
    }
    checkTables(before: before)
    return answer
  }

  mutating func violated(_ promise: String) {
    violations.append("\(promise) at \(nowMs) ms")
  }
}

/// What happened in a world.
struct LeaseFigures {
  var raised = 0
  var settled = 0
  var resumed = 0
  var handedOver = 0
  var cutOff = 0
  var drained = 0
  var takenOver = 0
}

/// Random numbers that are none: each is greater than the one before, and so small that what is
/// drawn from a range is its beginning.
struct CountingRandom: RandomNumberGenerator, Hashable {
  private var last: UInt64

  init(first: UInt64) { last = first }

  mutating func next() -> UInt64 {
    last += 1
    return last << 1
  }
}

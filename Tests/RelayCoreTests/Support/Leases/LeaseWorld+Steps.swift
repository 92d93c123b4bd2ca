@testable import RelayCore

/// Something that can happen.
enum LeaseStep: Hashable {
  /// Time passes until somebody's alarm rings.
  case timePasses
  /// Half the time passes until somebody's alarm rings.
  case moment
  /// Everything that a relay asks of the database is answered, until it asks for nothing more.
  case converse(Int)
  /// The database carries a request out; its answer is on its way.
  case carryOut(Int, LeaseWorld.Line)
  /// An answer arrives.
  case answer(Int, LeaseWorld.Line)
  /// An attempt begins, or ends.
  case begin(Int, Int)
  case end(Int, Int)
  /// A process starts, thaws, or is asked to drain.
  case start(Int)
  case thaw(Int)
  case drain(Int)

  /// The database carries a request out, and its answer is lost.
  case loseAnswer(Int, LeaseWorld.Line)
  /// The connection drops.
  case drop(Int, LeaseWorld.Line)
  /// The database refuses the connection.
  case fail(Int, LeaseWorld.Line)
  /// The database carries out what nobody waits for any more.
  case stray(Int)
  /// The answer to a commit of the relay's writer gets lost.
  case loseCommit(Int)
  case freeze(Int)
  case kill(Int)

  /// Whether it is trouble.
  var isFault: Bool {
    switch self {
    case .timePasses, .moment, .converse, .carryOut, .answer, .begin, .end, .start, .thaw, .drain:
      false
    case .loseAnswer, .drop, .fail, .stray, .loseCommit, .freeze, .kill: true
    }
  }
}

extension LeaseWorld {
  /// Everything that can happen now.
  ///
  /// - Parameter isFine: Whether requests and answers go one by one; otherwise a relay and the
  ///   database talk until they are done, which leads farther within the same number of steps.
  func steps(isFine: Bool) -> [LeaseStep] {
    var steps: [LeaseStep] = []
    if let next = nextAlarmMs {
      steps.append(.timePasses)
      let isSomethingUnderWay = nodes.contains { !$0.exchanges.isEmpty }
      if isFine, isSomethingUnderWay, next - nowMs >= 200 { steps.append(.moment) }
    }
    for place in nodes.indices {
      let node = nodes[place]
      guard let book = node.book else {
        steps.append(.start(place))
        continue
      }
      steps.append(.kill(place))
      for line in Line.allCases { steps += self.steps(of: node, place, on: line, isFine: isFine) }
      if node.isFrozen {
        steps.append(.thaw(place))
        continue
      }
      steps.append(.freeze(place))
      if !node.exchanges.isEmpty { steps.append(.converse(place)) }
      if !book.isDraining { steps.append(.drain(place)) }
      if book.incarnation != nil { steps.append(.loseCommit(place)) }
      for shard in 0..<limits.shardCount {
        if node.attempts.contains(shard) {
          steps.append(.end(place, shard))
        } else if book.mayStart(shard, at: now(at: place)) {
          steps.append(.begin(place, shard))
        }
      }
    }
    return steps + strays.indices.map { .stray($0) }
  }

  private func steps(
    of node: Node, _ place: Int, on line: Line, isFine: Bool
  ) -> [LeaseStep] {
    switch (node.exchanges[line], node.isFrozen) {
    case (nil, _): []
    case (.request, true): [.carryOut(place, line)]
    case (.answer, true): []
    case (.request, false) where isFine:
      [.carryOut(place, line), .drop(place, line), .fail(place, line)]
    case (.request, false): [.loseAnswer(place, line), .drop(place, line)]
    case (.answer, false): [.answer(place, line), .drop(place, line)]
    }
  }

  /// The time of the next alarm, of those who can hear it.
  var nextAlarmMs: Int64? {
    nodes.indices.filter { !nodes[$0].isFrozen }.compactMap { place in
      nodes[place].book?.nextWake(after: now(at: place)).map { timeMs(of: $0, at: place) }
    }.min()
  }

  /// Lets something happen, and looks whether all promises still hold.
  mutating func take(_ step: LeaseStep) {
    switch step {
    case .timePasses: passTime()
    case .moment: nowMs += ((nextAlarmMs ?? nowMs) - nowMs) / 2
    case .converse(let place): converse(place)
    case .carryOut(let place, let line): carryOut(place, line)
    case .answer(let place, let line): answer(place, line)
    case .begin(let place, let shard): nodes[place].attempts.insert(shard)
    case .end(let place, let shard): endAttempt(place, shard)
    case .start(let place): start(place)
    case .thaw(let place):
      nodes[place].isFrozen = false
      tell(place, .timePassed)
    case .drain(let place): tell(place, .drainAsked)
    case .loseAnswer(let place, let line):
      carryOut(place, line)
      drop(place, line)
    case .drop(let place, let line): drop(place, line)
    case .fail(let place, let line):
      nodes[place].exchanges[line] = nil
      tell(place, line == .beats ? .beatFailed : .callFailed)
    case .stray(let number): _ = carryOut(strays.remove(at: number))
    case .loseCommit(let place):
      if let seat = nodes[place].book?.incarnation { tell(place, .commitUnknown(seat)) }
    case .freeze(let place): nodes[place].isFrozen = true
    case .kill(let place): stop(place)
    }
    checkStarts()
  }

  private mutating func drop(_ place: Int, _ line: Line) {
    leaveToChance(place, line)
    tell(place, line == .beats ? .beatFailed : .callUnknown)
  }

  private mutating func carryOut(_ place: Int, _ line: Line) {
    guard case .request(let action) = nodes[place].exchanges[line] else { return }
    nodes[place].exchanges[line] = .answer(carryOut(action))
  }

  private mutating func answer(_ place: Int, _ line: Line) {
    guard case .answer(let event) = nodes[place].exchanges[line] else { return }
    nodes[place].exchanges[line] = nil
    tell(place, event)
  }

  private mutating func converse(_ place: Int) {
    for _ in 0..<20 where !nodes[place].exchanges.isEmpty {
      for line in Line.allCases {
        carryOut(place, line)
        answer(place, line)
      }
      checkStarts()
    }
    if !nodes[place].exchanges.isEmpty { violated("a relay asks the database without an end") }
  }

  private mutating func passTime() {
    guard let next = nextAlarmMs else { return }
    nowMs = next
    for place in nodes.indices where !nodes[place].isFrozen { tell(place, .timePassed) }
  }

  mutating func endAttempt(_ place: Int, _ shard: Int) {
    nodes[place].attempts.remove(shard)
    if nodes[place].settling.remove(shard) != nil { tell(place, .settled(shard)) }
  }
}

import RelayCore
import Synchronization

extension SQLiteStore {
  /// Implements `EnvelopeStore.forgetNames`.
  package func forgetNames(countMax: Int) async throws(StoreError) -> ForgettingPage {
    var walk = nameWalk.withLock { $0 }
    // An error starts the round over.
    nameWalk.withLock { $0 = NameWalk() }
    var page = ForgettingPage(forgottenCount: 0, isRoundDone: false)
    switch walk.phase {
    case .begin: page.isRoundDone = try await begin(&walk)
    case .gather, .line, .events: try await look(&walk)
    case .forget(let number):
      page.forgottenCount = try await forget(&walk, from: number, countMax: countMax)
    }
    guard !page.isRoundDone else { return page }
    nameWalk.withLock { [walk] in $0 = walk }
    return page
  }

  /// Begins the next range.
  ///
  /// - Returns: Whether there is none left.
  private func begin(_ walk: inout NameWalk) async throws(StoreError) -> Bool {
    let (kind, after) = (walk.kind, walk.through)
    let stretch = try await write("look for unused names") { writer throws(StoreError) in
      try writer.watchNames(kind, after: after)
    }
    guard let stretch else {
      guard kind == .lanes else { return true }
      walk = NameWalk()
      walk.kind = .clients
      return false
    }
    walk.candidates = NumberBits(stretch, areIn: false)
    walk.phase = .gather(after: after)
    return false
  }

  private func look(_ walk: inout NameWalk) async throws(StoreError) {
    let from = walk
    walk = try await read { reader throws(StoreError) in
      var walk = from
      try reader.look(&walk)
      return walk
    }
    // In most cases there is nothing left to look for.
    if walk.candidates.next(from: walk.candidates.first) == nil {
      switch walk.phase {
      case .line, .events, .forget: walk.advance()
      case .begin, .gather: break
      }
    }
  }

  private func forget(
    _ walk: inout NameWalk, from number: Int64, countMax: Int
  ) async throws(StoreError) -> Int {
    var numbers: [Int64] = []
    var next = walk.candidates.next(from: number)
    while let number = next, numbers.count < countMax {
      numbers.append(number)
      next = walk.candidates.next(from: number + 1)
    }
    if let next { walk.phase = .forget(from: next) } else { walk.advance() }
    let kind = walk.kind
    return try await write("forget names") { [numbers] writer throws(StoreError) in
      try writer.forget(kind, numbers)
    }
  }
}

extension Reader {
  /// Takes one step of a walk along names.
  fileprivate func look(_ walk: inout NameWalk) throws(StoreError) {
    switch walk.phase {
    case .begin, .forget: break
    case .gather(let number):
      let next = try gatherNames(
        walk.kind, after: number, countMax: StoreTuning.namesLookedAtPerStep,
        into: &walk.candidates)
      walk.phase =
        if let next { .gather(after: next) } else if walk.kind == .lanes { .line(after: 0) } else {
          .events(from: 0)
        }
    case .line(let serial):
      let next = try takeOutWaiting(
        from: &walk.candidates, after: serial, countMax: StoreTuning.clearingLooksPerStep)
      walk.phase = next.map { .line(after: $0) } ?? .events(from: 0)
    case .events(let number):
      let next = try takeOutOfEvents(
        from: &walk.candidates, walk.kind, row: number,
        bytesMax: StoreTuning.eventBytesLookedAtPerStep)
      walk.phase = next.map { .events(from: $0) } ?? .forget(from: walk.candidates.first)
    }
  }
}

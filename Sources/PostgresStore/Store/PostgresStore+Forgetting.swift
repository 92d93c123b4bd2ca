#if PostgreSQL
import RelayCore
import Synchronization

extension PostgresStore {
  /// See ``EnvelopeStore``.
  package func forgetNames(countMax: Int) async throws(StoreError) -> ForgettingPage {
    // An error starts the round over.
    var walk = shared.walks.withLock { walks in
      defer { walks.names = NameWalk() }
      return walks.names
    }
    var page = ForgettingPage(forgottenCount: 0, isRoundDone: false)
    switch walk.phase {
    case .begin: page.isRoundDone = try await begin(&walk)
    case .gather, .line, .events: try await look(&walk)
    case .forget(let number):
      page.forgottenCount = try await forget(&walk, from: number, countMax: countMax)
    }
    guard !page.isRoundDone else { return page }
    shared.walks.withLock { [walk] in $0.names = walk }
    return page
  }

  /// Begins the next range.
  ///
  /// - Returns: Whether there is none left.
  private func begin(_ walk: inout NameWalk) async throws(StoreError) -> Bool {
    let (kind, after) = (walk.kind, walk.through)
    let stretch = try await write { writer throws(StoreError) in
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
    guard walk.candidates.next(from: walk.candidates.first) == nil else { return }
    switch walk.phase {
    case .line, .events, .forget: walk.advance()
    case .begin, .gather: break
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
    return try await write { [numbers] writer throws(StoreError) in
      try writer.forget(kind, numbers)
    }
  }
}
#endif

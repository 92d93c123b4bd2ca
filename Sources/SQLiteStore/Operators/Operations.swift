import RelayCore

extension Writer {
  /// Records the beginning of an operation, and deletes the oldest if there are too many.
  func begin(_ operation: Operation) throws(StoreError) -> Int64 {
    operations.begin.bind(1, operation.startedAt.millisecondsSinceEpoch)
    operations.begin.bind(2, operation.who)
    operations.begin.bind(3, operation.action.rawValue)
    operations.begin.bind(4, operation.filter.client)
    operations.begin.bind(5, operation.filter.lane)
    operations.begin.bind(6, operation.filter.upstream)
    operations.begin.bind(7, operation.filter.tag)
    operations.begin.bind(8, operation.filter.stateWords)
    operations.begin.bind(9, Int64(operation.matched))
    operations.begin.bind(10, operation.hasMore ? 1 : Int64(0))
    guard try operations.begin.step() else { throw .invalidRow("an operation without a number") }
    let number = operations.begin.int(0)
    operations.begin.reset()
    operations.noteOwn(number)
    operations.forget.bind(1, number - Int64(OperationLimits.keptMax))
    try operations.forget.run()
    return number
  }

  /// Records the progress of an operation.
  func note(_ operation: Operation) throws(StoreError) {
    operations.note.bind(1, Int64(operation.done))
    operations.note.bind(2, Int64(operation.failed))
    operations.note.bind(3, operation.state.code)
    operations.note.bind(4, operation.endedAt?.millisecondsSinceEpoch)
    operations.note.bind(5, OperationCode.text(of: operation.refusals))
    operations.note.bind(6, operation.number)
    try operations.note.run()
  }

  /// Records that an incarnation's running operations were interrupted.
  func interruptOperations(
    of incarnation: Incarnation, at time: WallTime
  ) throws(StoreError) {
    guard let numbers = operations.numbers(of: incarnation) else { return }
    operations.interrupt.bind(1, time.millisecondsSinceEpoch)
    operations.interrupt.bind(2, numbers.lowerBound)
    operations.interrupt.bind(3, numbers.upperBound)
    try operations.interrupt.run()
  }
}

extension Reader {
  /// All kept operations, the newest first.
  func allOperations() throws(StoreError) -> [Operation] {
    operations.all.bind(1, Int64(OperationLimits.keptMax))
    var found: [Operation] = []
    while try operations.all.step() { found.append(try Operation(operations.all)) }
    return found
  }
}

extension Operation {
  /// The operation in the present row.
  fileprivate init(_ row: borrowing Statement) throws(StoreError) {
    guard let action = Action(rawValue: row.text(3) ?? ""), let state = State(code: row.int(13))
    else { throw .invalidRow("an operation that is none") }
    let filter = Filter(
      client: row.text(4), lane: row.text(5), upstream: row.text(6), tag: row.text(7),
      states: OperationCode.states(row.text(8) ?? ""))
    self.init(
      Operation(
        action, filter, matched: Int(row.int(9)), hasMore: row.int(10) != 0,
        who: row.text(2) ?? "", at: WallTime(millisecondsSinceEpoch: row.int(1))),
      number: row.int(0), done: Int(row.int(11)), failed: Int(row.int(12)), state: state,
      endedAt: row.optionalInt(14).map { WallTime(millisecondsSinceEpoch: $0) },
      refusals: OperationCode.refusals(row.text(15) ?? ""))
  }
}

extension Operation.State {
  /// The code of the state in the database, fixed for good.
  fileprivate var code: Int64 {
    switch self {
    case .running: 0
    case .done: 1
    case .stopped: 2
    case .interrupted: 3
    }
  }

  fileprivate init?(code: Int64) {
    guard let state = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = state
  }
}

extension SQLiteStore {
  /// Implements `OperationStore.beginOperation`.
  package func beginOperation(_ operation: Operation) async throws(StoreError) -> Int64 {
    try await write("begin an operation") { writer throws(StoreError) in
      try writer.begin(operation)
    }
  }

  /// Implements `OperationStore.noteOperation`.
  package func noteOperation(_ operation: Operation) async throws(StoreError) {
    try await write("note an operation") { writer throws(StoreError) in
      try writer.note(operation)
    }
  }

  /// Implements `OperationStore.incarnation`.
  package var incarnation: Incarnation { .present }

  /// Implements `OperationStore.endedIncarnations`.
  ///
  /// The folder's lock lets in one process at a time: whoever was here before has ended.
  package func endedIncarnations() async throws(StoreError) -> [Incarnation] { [.earlier] }

  /// Implements `OperationStore.interruptOperations`.
  package func interruptOperations(
    of incarnation: Incarnation, at time: WallTime
  ) async throws(StoreError) {
    try await write("interrupt operations") { writer throws(StoreError) in
      try writer.interruptOperations(of: incarnation, at: time)
    }
  }

  /// Implements `OperationStore.operations`.
  package func operations() async throws(StoreError) -> [Operation] {
    try await read { reader throws(StoreError) in try reader.allOperations() }
  }
}

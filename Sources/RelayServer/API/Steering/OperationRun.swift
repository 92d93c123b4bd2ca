import RelayCore

/// Carries an operation out: with a few envelopes at once, each as by a call of its own.
///
/// What has to keep the order of its lane does: see ``LaneStep``.
struct OperationRun {
  private let context: EndpointContext
  private let items: [OperationOrder.Item]
  private var operation: Operation
  private var desk: OperationDesk { context.relay.operations }

  /// Its place among the operations that run at once.
  private let place: SharedPlaces.Place

  /// The result of one envelope's turn.
  private typealias Result = Replay.Result

  init(
    _ context: EndpointContext, _ operation: Operation, _ items: [OperationOrder.Item],
    at place: SharedPlaces.Place
  ) {
    self.place = place
    self.context = context
    self.operation = operation
    self.items = items
  }

  /// Goes on until all have had their turn, or it is stopped or interrupted.
  mutating func run() async {
    var rest = items[...]
    while !rest.isEmpty, operation.state == .running {
      if let end = reasonToEnd {
        operation.end(as: end, at: context.relay.now().wall)
        break
      }
      let part = rest.prefix(OperationLimits.atOnce)
      rest = rest.dropFirst(part.count)
      take(in: await carryOut(part))
      desk.note(operation)
      await remember()
      await context.relay.pause(milliseconds: OperationLimits.pauseMs)
    }
    operation.end(as: .done, at: context.relay.now().wall)
    await remember()
    desk.end(operation, at: place)
    log()
  }

  private var reasonToEnd: Operation.State? {
    if context.relay.isDraining { return .interrupted }
    if desk.isToStop(operation.number) { return .stopped }
    // Who is not trusted any more has nothing done any more.
    let now = context.relay.now().wall
    return context.relay.access.isGood(context.caller, at: now) ? nil : .stopped
  }

  private func carryOut(_ items: ArraySlice<OperationOrder.Item>) async -> [Result] {
    let action = operation.action
    if action == .replay { return await Replay(context, operation).carryOut(items.map(\.id)) }
    var steps: [LaneNumber: LaneStep] = [:]
    return await withTaskGroup(of: Result.self) { group in
      for item in items {
        let step = LaneStep(after: steps[item.lane])
        if action.isInOrder { steps[item.lane] = step }
        group.addTask { [context] in
          await step.begin()
          defer { step.pass() }
          return (item.id, await SteerEnvelope(context).perform(action, item.id, in: step))
        }
      }
      var results: [Result] = []
      for await result in group { results.append(result) }
      return results
    }
  }

  private mutating func take(in results: [Result]) {
    for result in results {
      guard let problem = result.problem else {
        operation.noteDone()
        continue
      }
      operation.noteFailed(result.id, problem: problem.kind.rawValue)
      // With a store in trouble the others would fare no better.
      if problem.kind.isTrouble { operation.end(as: .interrupted, at: context.relay.now().wall) }
    }
  }

  /// An operation that cannot be stored is still known here; a restart takes it for interrupted.
  private func remember() async {
    do throws(StoreError) {
      try await context.store.noteOperation(operation)
    } catch {
      _ = context.problem(error)
    }
  }

  private func log() {
    context.relay.log.info(
      "an operation has ended", ("operation", .integer(operation.number)),
      ("action", .text(operation.action.rawValue)), ("state", .text(operation.state.rawValue)),
      ("matched", .integer(Int64(operation.matched))), ("done", .integer(Int64(operation.done))),
      ("failed", .integer(Int64(operation.failed))))
  }
}

extension ProblemKind {
  /// True if it says something of the relay, and nothing of the envelope.
  fileprivate var isTrouble: Bool {
    switch self {
    case .draining, .storeUnavailable, .internalError, .diskFull: true
    default: false
    }
  }
}

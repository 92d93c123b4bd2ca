import HTTPServer
import RelayCore

/// The common steps of endpoints that change one envelope: look, decide, have it done, show it.
struct EnvelopeChange {
  private let context: EndpointContext
  private var dispatcher: Dispatcher { context.relay.dispatcher }

  /// The command to carry out, and the envelope's present entry in the line.
  typealias Order = (command: SteeringCommand, entry: LineEntry)

  /// The number of further looks at an envelope whose outcome is on its way to the disk.
  private static let looksMax = 100
  /// The pause between two looks, in milliseconds.
  private static let pauseMs: Int64 = 10

  init(_ context: EndpointContext) { self.context = context }

  /// Changes an envelope, and shows it; see ``perform(_:isRunning:_:handedOver:)``.
  func change(
    _ id: EnvelopeID, isRunning: Bool = false,
    _ decide: (EnvelopeRecord) async throws(Problem) -> Order?,
    handedOver: () -> Void = {}
  ) async throws(Problem) -> HTTPResponse {
    let unchanged = try await perform(
      id, isRunning: isRunning, decide, handedOver: handedOver)
    if let unchanged { return await context.view(of: unchanged) }
    return await context.view(of: try await context.record(id))
  }

  /// Changes an envelope.
  ///
  /// - Parameters:
  ///   - isRunning: Whether it is only to be run, so that an attempt under way is as good.
  ///   - decide: What is to be done with an envelope that stands so; nil if nothing is.
  ///   - handedOver: Called once the change will be made, whatever is answered.
  ///   - onItsWay: Called once the change is on its way to the disk: whatever is asked for after
  ///     that gets there after it.
  /// - Returns: The envelope if it was as it was asked to be; nil if it was changed.
  func perform(
    _ id: EnvelopeID, isRunning: Bool = false,
    _ decide: (EnvelopeRecord) async throws(Problem) -> Order?,
    handedOver: () -> Void = {}, onItsWay: () -> Void = {}
  ) async throws(Problem) -> EnvelopeRecord? {
    guard !context.relay.isDraining else { throw .draining() }
    // Before its turn is taken, which would hold up those whose envelope it is.
    if context.caller.client != nil { _ = try await context.record(id) }
    var turn = try await takeTurn(of: id)
    defer { dispatcher.giveBack(turn) }
    for _ in 0..<Self.looksMax {
      let record = try await context.record(id)
      guard let order = try await decide(record) else { return record }
      switch try await carryOut(order, on: record, in: turn, onItsWay) {
      case .done:
        handedOver()
        return nil
      case .delayed:
        handedOver()
        throw .delayed()
      case .unwritten: throw .unwritable()
      case .refused(let verdict):
        if try await !isWorthAnotherLook(record, verdict, isRunning: isRunning) {
          return record
        }
      case .moot:
        turn = try await takeTurn(of: id)
        continue
      }
      await context.relay.pause(milliseconds: Self.pauseMs)
    }
    throw .delivering()
  }

  /// The scheduler knows only what waits: what has ended, and stays so, is the store's alone.
  private func carryOut(
    _ order: Order, on record: EnvelopeRecord, in turn: SteeringTurns.Turn,
    _ onItsWay: () -> Void
  ) async throws(Problem) -> SteeringResult {
    guard record.state.isEnd else {
      return await dispatcher.steer(order.command, order.entry, in: turn, onItsWay: onItsWay)
    }
    do throws(StoreError) {
      switch order.command {
      case .edit(let edit):
        guard try await context.store.correctEnded(edit) else { return .refused(.gone) }
        dispatcher.forgetContent(of: edit.entry.serial)
        dispatcher.tell(ended: record.id, order.command)
        return .done
      case .cancel(let reason):
        // It stands in no lane, so that nothing has to wait for it.
        onItsWay()
        let isDone = try await context.store.cancelEnded(order.entry, reason: reason)
        guard isDone else { return .refused(.gone) }
        if record.state != .cancelled { dispatcher.tell(ended: record.id, order.command) }
        return .done
      case .run, .retry, .discard, .requeue:
        return await dispatcher.steer(order.command, order.entry, in: turn, onItsWay: onItsWay)
      }
    } catch {
      throw context.problem(error)
    }
  }

  private func takeTurn(of id: EnvelopeID) async throws(Problem) -> SteeringTurns.Turn {
    guard let turn = await dispatcher.takeTurn(of: id) else { throw .delayed() }
    return turn
  }

  /// Whether to look at the envelope again, since something is changing it now.
  ///
  /// If nothing is, it is already as the caller wants it.
  private func isWorthAnotherLook(
    _ record: EnvelopeRecord, _ verdict: CommandVerdict, isRunning: Bool
  ) async throws(Problem) -> Bool {
    switch verdict {
    case .unneeded: return false
    case .busy:
      let placement = dispatcher.placement(of: record.entry.serial, in: record.lane)
      guard placement.isInFlight else { return true }
      guard isRunning else { throw .delivering() }
      return false
    case .behind(let head): throw try await behind(head)
    case .parked: throw .parked(record.missing)
    case .blocked: throw .blocked()
    case .inDoubt: throw .inDoubt()
    case .unwritable: throw .unwritable()
    case .notBlocked:
      guard record.state == .blocked else { throw .notBlocked(record.state) }
      return true
    case .gone, .recording: return true
    }
  }

  /// What is told of one that stands behind another.
  private func behind(_ head: Serial) async throws(Problem) -> Problem {
    do throws(StoreError) {
      let id = try await context.store.ids(of: [head])[head]
      let summary = try await context.store.summaries(of: id.map { [$0] } ?? []).first
      return .behind(id, key: summary?.terms.key)
    } catch {
      throw context.problem(error)
    }
  }
}

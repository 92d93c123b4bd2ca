import HTTPServer
import RelayCore

/// `POST /v1/envelopes/{id}/run`, `/resolve` and `/requeue`, and `DELETE /v1/envelopes/{id}`.
struct SteerEnvelope {
  private let context: EndpointContext

  /// Why an envelope ended that its sender took back.
  static let cancelledReason = "cancelled by a call"

  init(_ context: EndpointContext) { self.context = context }

  /// Runs a held one, or cuts a wait short.
  func run(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    try await change(captures, isRunning: true) { record throws(Problem) in
      guard !record.state.isEnd else { throw .alreadyEnded(record.state) }
      return (.run, record.entry)
    }
  }

  /// Takes one back that waits, or that ended undelivered.
  func cancel(_ captures: PathCaptures) async throws(Problem) -> HTTPResponse {
    try await change(captures) { record throws(Problem) in try Self.cancellation(of: record) }
  }

  private static func cancellation(
    of record: EnvelopeRecord
  ) throws(Problem) -> EnvelopeChange.Order? {
    if record.state == .cancelled { return nil }
    guard record.state != .delivered else { throw .alreadyEnded(record.state) }
    return (.cancel(reason: cancelledReason), record.entry)
  }

  /// Settles one that blocks its lane.
  func resolve(_ request: HTTPRequest, _ captures: PathCaptures) async throws(Problem)
    -> HTTPResponse
  {
    let id = try await context.envelopeID(captures)
    let text = try await CommandBody(context).read(request)
    let resolution = try Resolution(text)
    context.act?.say(resolution.rawValue)
    return try await EnvelopeChange(context).change(id) { record throws(Problem) in
      try Self.settlement(resolution, of: record)
    }
  }

  private static func settlement(
    _ resolution: Resolution, of record: EnvelopeRecord
  ) throws(Problem) -> EnvelopeChange.Order {
    guard record.state == .blocked else { throw .notBlocked(record.state) }
    switch resolution {
    case .retry: return (.retry, record.entry)
    case .discard:
      let reason = DiscardReason.text(record.reason ?? "the upstream refused it")
      return (.discard(reason: reason), record.entry)
    }
  }

  /// Does with an envelope what an operation does with each of its own.
  ///
  /// - Parameter step: Its step in its lane, which it passes once its change is on its way.
  /// - Returns: Why it was left as it was; nil if it was not.
  func perform(
    _ action: Operation.Action, _ id: EnvelopeID, in step: LaneStep
  ) async -> Problem? {
    do throws(Problem) {
      var claim = try QuotaClaim(steering: context)
      defer { claim.giveBack() }
      let decide = { (record: EnvelopeRecord) async throws(Problem) -> EnvelopeChange.Order? in
        switch action {
        case .retry: try Self.settlement(.retry, of: record)
        case .discard: try Self.settlement(.discard, of: record)
        case .requeue: try await requeue(record, on: RequeueTerms(nil), &claim)
        case .cancel: try Self.cancellation(of: record)
        case .replay: preconditionFailure("a replay posts anew, and changes nothing")
        }
      }
      _ = try await EnvelopeChange(context).perform(id, decide, onItsWay: step.pass)
      return nil
    } catch {
      return error
    }
  }

  /// Puts one that ended undelivered back in line.
  func requeue(_ request: HTTPRequest, _ captures: PathCaptures) async throws(Problem)
    -> HTTPResponse
  {
    let id = try await context.envelopeID(captures)
    let text = try await CommandBody(context).read(request)
    let terms = try RequeueTerms(text)
    var claim = try QuotaClaim(steering: context)
    defer { claim.giveBack() }
    return try await EnvelopeChange(context).change(id) { record throws(Problem) in
      try await requeue(record, on: terms, &claim)
    }
  }

  private func requeue(
    _ record: EnvelopeRecord, on terms: RequeueTerms, _ claim: inout QuotaClaim
  ) async throws(Problem) -> EnvelopeChange.Order {
    guard record.state != .delivered else { throw .alreadyDelivered() }
    if record.isUnreadable, record.state.isEnd { throw .unreadable(record.state) }
    guard record.state.isEnd else {
      let placement = context.relay.dispatcher.placement(of: record.entry.serial, in: record.lane)
      throw .notEnded(placement.isInFlight ? .delivering : record.state)
    }
    // Looked at again after a change of somebody else's, it needs room once all the same.
    claim.giveBack()
    try await claim.takeAgain(for: record.draft.client, bytes: record.draft.content.byteCount)
    var entry = record.entry
    let arrival = context.relay.arrival()
    let start = arrival.deadlineStart
    if let expiresAt = terms.expiresAt(from: arrival) {
      entry.expiresAt = expiresAt
    } else {
      entry.expiresAt = try defaultDeadline(of: record, from: start)
    }
    let rules = context.rules.lanes.rules(ofLane: record.draft.lane)
    entry.expiresAt = rules.deadline(entry.expiresAt, countingFrom: start)
    entry.waitAgain(
      hold: record.draft.hold, notBefore: record.draft.notBefore, at: context.relay.now().wall)
    try AcceptanceRules.checkTimes(
      notBefore: entry.dueAt, expiresAt: entry.expiresAt, field: "/expiresAt")
    return (.requeue(into: rules.order), entry)
  }

  private func defaultDeadline(
    of record: EnvelopeRecord, from start: WallTime
  ) throws(Problem) -> WallTime {
    guard let upstream = context.rules.upstream(named: record.draft.upstream) else {
      throw .missingField(
        "/expiresAt",
        "The upstream \(record.draft.upstream.quoted) is not configured any more, so it"
          + " sets no deadline.", fix: "Say in expiresAt when the envelope is to expire.")
    }
    return start.deadline(afterMs: upstream.deadlineMs)
  }

  private func change(
    _ captures: PathCaptures, isRunning: Bool = false,
    _ decide: (EnvelopeRecord) async throws(Problem) -> EnvelopeChange.Order?
  ) async throws(Problem) -> HTTPResponse {
    let id = try await context.envelopeID(captures)
    return try await EnvelopeChange(context).change(id, isRunning: isRunning, decide)
  }
}

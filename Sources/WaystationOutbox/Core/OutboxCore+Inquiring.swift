import RelayCore

extension OutboxCore {
  /// When the relay is asked again after what it has; nil if it has nothing.
  func inquiryDue() -> Int64? {
    guard settings.isRelay, state.atRelay > 0 else { return nil }
    return state.inquiry.nextAt
  }

  /// Asks after one of the oldest items that the relay has, if it is time.
  func nextInquiry(at now: Moment) throws(StoreError) -> OutgoingExchange? {
    guard settings.isRelay, state.atRelay > 0 else { return nil }
    let nextAt = state.inquiry.nextAt ?? now.monotonicMs + CoreLimits.inquiryMs
    state.inquiry.nextAt = nextAt
    if state.inquiry.lanes.isEmpty {
      guard now.monotonicMs >= nextAt else { return nil }
      let lanes = state.lanes.values.filter { $0.items > $0.line }.map(\.number).sorted()
      state.inquiry = Inquiry(
        nextAt: now.monotonicMs + CoreLimits.inquiryMs,
        lanes: lanes.prefix(CoreLimits.inquiredLanesMax).map { ($0, 0) })
    }
    while let (lane, after) = state.inquiry.lanes.first {
      guard let item = try file.nextHanded(of: lane, after: after) else {
        state.inquiry.lanes.removeFirst()
        continue
      }
      // The ledger says how it has ended, also where the relay has forgotten the envelope.
      guard try isUnproven(item) else { return ask(after: item) }
      state.inquiry.lanes[0].after = item.id
    }
    return nil
  }

  private func ask(after item: KeptItem) -> OutgoingExchange {
    return begin(
      .inquiry(item: item.id),
      OutgoingRequest(
        method: "GET", path: RelayPath.envelope(item.key, of: settings.client)))
  }

  /// Takes what the relay says of an item.
  func takeInquiry(_ response: Response, of id: Int64, at now: Moment) throws(StoreError) {
    state.sender.answered()
    if !state.inquiry.lanes.isEmpty { state.inquiry.lanes.removeFirst() }
    guard let item = try file.item(id), item.isHanded else { return }
    if try isUnproven(item) { return }
    if response.status == 200 {
      guard let kind = EndingKind(state: EnvelopeAnswer.state(response.body)) else { return }
      // It was not told of this end: it may not have been told of the next one either.
      state.inquiry.lanes.append((item.lane, item.id))
      return try endTold(item, kind, number: EnvelopeAnswer.sequence(response.body))
    }
    guard let problem = RelayProblem(response), problem.status == 404 else { return }
    // If it has lost this one, it may have lost the next one as well.
    state.inquiry.lanes.append((item.lane, item.id))
    // What has lost its number was known to the relay by its key: it is not posted as a new one.
    let isKnown = item.sequence == nil && settings(of: item.lane).order == .strict
    if !isKnown, try takeBack(item) { return }
    try end(item, .unknown, error: .forgottenByRelay)
  }
}

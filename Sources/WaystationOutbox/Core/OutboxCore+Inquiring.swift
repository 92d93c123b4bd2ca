import RelayCore

extension OutboxCore {
  /// When the relay is asked again after what it has; nil if it has nothing.
  func inquiryDue() -> Int64? {
    guard settings.isRelay, state.atRelay > 0 else { return nil }
    return state.inquiry.nextAt
  }

  /// Whether a round of questions has begun, or is to begin as soon as the relay can be asked.
  var isInquiring: Bool {
    !state.inquiry.lanes.isEmpty || state.mustInquire && state.atRelay > 0
  }

  /// Asks after one of the oldest items that the relay has, if it is time.
  func nextInquiry(at now: Moment) throws(StoreError) -> OutgoingExchange? {
    if state.inquiry.lanes.isEmpty, state.inquiry.isOfRestored { try endInquiryOfRestored() }
    guard settings.isRelay, state.atRelay > 0 else { return nil }
    let nextAt = state.inquiry.nextAt ?? now.monotonicMs + CoreLimits.inquiryMs
    state.inquiry.nextAt = nextAt
    if state.inquiry.lanes.isEmpty {
      let mustAsk = state.mustInquire && state.checkedInAt != nil
      guard mustAsk || now.monotonicMs >= nextAt else { return nil }
      beginInquiry(ofAll: mustAsk, at: now)
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

  private func beginInquiry(ofAll asksAll: Bool, at now: Moment) {
    let lanes = state.lanes.values.filter { $0.items > $0.line }.map(\.number).sorted()
    state.inquiry = Inquiry(
      nextAt: now.monotonicMs + CoreLimits.inquiryMs,
      lanes: lanes.prefix(asksAll ? lanes.count : CoreLimits.inquiredLanesMax).map { ($0, 0) },
      isOfRestored: asksAll)
  }

  /// A restored device knows by now how all has ended of which nobody would have told it.
  func endInquiryOfRestored() throws(StoreError) {
    state.inquiry.isOfRestored = false
    guard state.mustInquire else { return }
    state.mustInquire = false
    try file.set(.mustInquire, 0)
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

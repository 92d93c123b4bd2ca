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
    if state.inquiry.lanes.isEmpty, state.inquiry.isOfRestored, try !endRound() {
      return try sync([], [], at: now)
    }
    guard settings.isRelay, state.atRelay > 0 else { return nil }
    let nextAt = state.inquiry.nextAt ?? now.monotonicMs + CoreLimits.inquiryMs
    state.inquiry.nextAt = nextAt
    if state.inquiry.lanes.isEmpty {
      let mustAsk = state.mustInquire && state.checkedInAt != nil
      guard mustAsk || now.monotonicMs >= nextAt else { return nil }
      beginRound(ofRestored: mustAsk, at: now)
    }
    let below = state.inquiry.isOfRestored ? state.signing.restoredBelow : .max
    while let (lane, after) = state.inquiry.lanes.first {
      guard let item = try file.nextHanded(of: lane, after: after), item.id < below else {
        state.inquiry.lanes.removeFirst()
        continue
      }
      // The ledger says how it has ended, also where the relay has forgotten the envelope.
      guard try isUnproven(item) else { return ask(after: item) }
      state.inquiry.lanes[0].after = item.id
    }
    return nil
  }

  private func beginRound(ofRestored isOfRestored: Bool, at now: Moment) {
    let lanes = state.lanes.values.filter { $0.items > $0.line }.map(\.number).sorted()
    state.inquiry = Inquiry(
      nextAt: now.monotonicMs + CoreLimits.inquiryMs,
      lanes: lanes.prefix(isOfRestored ? lanes.count : CoreLimits.inquiredLanesMax)
        .map { ($0, 0) },
      isOfRestored: isOfRestored)
  }

  /// - Returns: false if the relay has to be asked first what has ended: it may tell the same with
  ///   the upstream's answer.
  private func endRound() throws(StoreError) -> Bool {
    let found = state.inquiry.found
    if !found.isEmpty {
      let before = state.inquiry.checkInsBefore ?? state.checkInCount
      state.inquiry.checkInsBefore = before
      guard state.checkInCount > before else { return false }
    }
    for id in found.keys.sorted() {
      guard let (kind, number) = found[id], let item = try file.item(id), item.isHanded,
        try !isUnproven(item)
      else { continue }
      try endTold(item, kind, number: number)
    }
    state.inquiry.found = [:]
    state.inquiry.isOfRestored = false
    if !state.inquiry.isBehind { try endInquiryOfRestored() }
    return true
  }

  /// A restored device knows by now how all has ended of which nobody would have told it.
  func endInquiryOfRestored() throws(StoreError) {
    guard state.mustInquire else { return }
    state.mustInquire = false
    try file.set(.mustInquire, 0)
  }

  /// Asks how an item has ended that the relay has by its key.
  ///
  /// Where it is of the backup from which the device was restored, that is not forgotten at a kill.
  func inquire(afterKnown item: KeptItem) throws(StoreError) {
    guard item.id < state.signing.restoredBelow else {
      return state.inquiry.lanes.append((item.lane, item.id - 1))
    }
    state.inquiry.isBehind = true
    guard !state.mustInquire else { return }
    state.mustInquire = true
    try file.set(.mustInquire, 1)
  }

  private func ask(after item: KeptItem) -> OutgoingExchange {
    return begin(
      .inquiry(item: item.id),
      OutgoingRequest(
        method: "GET", path: RelayPath.envelope(item.key, of: settings.client)))
  }

  /// Takes what the relay says of an item.
  func takeInquiry(_ response: Response, of id: Int64, at now: Moment) throws(StoreError) {
    let word = response.status == 200 ? EnvelopeAnswer.state(response.body) : nil
    guard word != nil || RelayProblem(response) != nil else {
      // It is asked again.
      return notReachable(.notTheRelay, at: now)
    }
    state.sender.answered()
    let asked = state.inquiry.lanes.isEmpty ? nil : state.inquiry.lanes.removeFirst()
    let asksAboutEach = state.inquiry.isOfRestored
    if asksAboutEach, let asked { state.inquiry.lanes.append((asked.lane, id)) }
    guard let item = try file.item(id), item.isHanded else { return }
    if try isUnproven(item) { return }
    if response.status == 200 {
      guard let kind = EndingKind(state: word) else { return }
      let number = EnvelopeAnswer.sequence(response.body)
      guard !asksAboutEach else { return state.inquiry.found[id] = (kind, number) }
      // It was not told of this end: it may not have been told of the next one either.
      state.inquiry.lanes.append((item.lane, item.id))
      return try endTold(item, kind, number: number)
    }
    guard RelayProblem(response)?.status == 404 else { return }
    // If it has lost this one, it may have lost the next one as well.
    if !asksAboutEach { state.inquiry.lanes.append((item.lane, item.id)) }
    // What has lost its number was known to the relay by its key: it is not posted as a new one.
    let isKnown = item.sequence == nil && settings(of: item.lane).order == .strict
    if !isKnown, try takeBack(item) { return }
    try end(item, .unknown, error: .forgottenByRelay)
  }
}

import RelayCore

extension OutboxCore {
  /// Does what is due, begins the requests that may go, and says when to be woken.
  ///
  /// It is called at the end of each transaction in which something has changed.
  func pump(at now: Moment) throws(StoreError) {
    state.wakeAt = nil
    if let linger = state.lingerUntil, now.monotonicMs >= linger { state.lingerUntil = nil }
    try countAnew(at: now)
    try expire(at: now)
    try releaseUnproven(at: now)
    while let exchange = try nextExchange(at: now) { want(.send(exchange)) }
    try planAhead(at: now)
    try decideRuns(at: now)
    if let due = try nextMoment(at: now) { want(.alarm(atMs: due)) }
  }

  /// What goes next; nil if nothing does just now.
  private func nextExchange(at now: Moment) throws(StoreError) -> OutgoingExchange? {
    guard !state.isPaused else { return nil }
    let sending = settings.sending
    guard state.sender.maySend(at: now.monotonicMs, onConstrained: sending.onConstrainedNetworks)
    else { return nil }
    guard settings.isRelay else { return try nextDirect(at: now) }
    guard state.exchanges.isEmpty else { return nil }
    if state.mustRejoin { return begin(.rejoin, rejoinRequest()) }
    if state.custody.wantsKeys { return askKeys() }
    let voids = try file.voidNumbers(countMax: CoreLimits.voidsMax)
    if state.voidsGoAlone, !voids.isEmpty { return try sync([], voids, at: now) }
    let batch = try planBatch(at: now)
    try askSigner(for: batch.unsigned, at: now)
    let isDue = isCheckInDue(at: now)
    let othersWait =
      !batch.items.isEmpty || !voids.isEmpty || isDue || !state.givenUp.isEmpty
    let waitsForUpload = othersWait || isProofDue(at: now)
    if let upload = batch.upload, !state.lastWasUpload || !waitsForUpload {
      if let step = try nextStep(of: upload, at: now) { return step }
      // Its body is gone: the others go, and what is behind it is looked at once more.
      noteDue(now.monotonicMs + 1)
    }
    let mayProve = state.proofsInARow < CoreLimits.proofsInARowMax
    if mayProve || !othersWait, let proof = try nextProof(at: now) { return proof }
    if let key = state.givenUp.first { return giveUp(key) }
    guard !batch.items.isEmpty || !voids.isEmpty || isDue else {
      return try nextInquiry(at: now)
    }
    return try sync(batch.items, voids, at: now)
  }

  /// Notes a request as under way.
  ///
  /// - Parameter part: What of an item's body it brings, if it is uploaded.
  func begin(
    _ underway: Underway, _ request: OutgoingRequest, part: UploadPart? = nil
  ) -> OutgoingExchange {
    let number = state.nextExchange
    state.nextExchange += 1
    state.exchanges[number] = underway
    state.changedMeanwhile = []
    var single: Int64?
    switch underway {
    case .sync(let items, _, _): state.underwayItems.formUnion(items)
    case .direct(let item):
      state.underwayItems.insert(item)
      single = item
    case .upload(let item, _):
      state.underwayItems.insert(item)
      single = part == nil ? nil : item
    case .rejoin, .inquiry, .giveUp, .keys, .ledger: break
    }
    if case .upload = underway { state.lastWasUpload = true } else { state.lastWasUpload = false }
    if case .ledger = underway { state.proofsInARow += 1 } else { state.proofsInARow = 0 }
    return OutgoingExchange(
      number: number, method: request.method, path: request.path, headers: request.headers,
      body: request.body, item: single, part: part)
  }

  // MARK: - Check-ins

  /// Whether the relay is to be asked what has ended.
  private func isCheckInDue(at now: Moment) -> Bool {
    guard let due = checkInDue(at: now) else { return false }
    return now.monotonicMs >= due
  }

  /// When the relay is to be asked what has ended; nil for never.
  func checkInDue(at now: Moment) -> Int64? {
    guard settings.isRelay, state.atRelay > 0 else { return nil }
    if state.asksForEnds { return now.monotonicMs }
    if state.hasMoreEndings {
      guard state.strangeAnswers > CoreLimits.strangeAnswersMax, let last = state.checkedInAt else {
        return now.monotonicMs
      }
      return last + CoreLimits.strangePauseMs
    }
    var dues: [Int64] = []
    if let every = settings.sending.checkInEvery {
      dues.append(state.checkedInAt.map { $0 + every.milliseconds } ?? now.monotonicMs)
    }
    if !state.watchers.isEmpty || !state.runs.isEmpty {
      dues.append(state.checkedInAt.map { $0 + state.watchPauseMs } ?? now.monotonicMs)
    }
    return dues.min()
  }

  // MARK: - Times

  /// When something is due of which nobody tells the core; nil if nothing is.
  func nextMoment(at now: Moment) throws(StoreError) -> Int64? {
    var dues: [Int64] = []
    if let deadline = try file.nextDeadline(boot: state.boot) { dues.append(deadline) }
    // What is under way tells by itself when it is over.
    if !state.isPaused, state.total.items > 0, state.exchanges.isEmpty {
      let checkIn = checkInDue(at: now)
      let hasLine = state.lanes.values.contains { $0.line > 0 }
      let onConstrained = settings.sending.onConstrainedNetworks
      if state.sender.link == .constrained, !onConstrained {
        // Whoever knows of the connection tells when it is another one.
      } else if let until = state.sender.waitUntil, until > now.monotonicMs {
        let hasQuestions =
          state.custody.wantsKeys || !state.custody.proofs.isEmpty || isInquiring
        if hasLine || checkIn != nil || hasQuestions { dues.append(until) }
      } else {
        if let linger = state.lingerUntil, hasLine { dues.append(linger) }
        if let wakeAt = state.wakeAt { dues.append(wakeAt) }
        if let checkIn { dues.append(checkIn) }
        if let inquiry = inquiryDue() { dues.append(inquiry) }
      }
    }
    return dues.min().map {
      min(max($0, now.monotonicMs + 1), now.monotonicMs + CoreLimits.alarmMsMax)
    }
  }

  /// Something that was passed over is due then.
  func noteDue(_ due: Int64) { state.wakeAt = min(state.wakeAt ?? due, due) }

  /// Lets items expire whose time is over, and that nobody else can have.
  ///
  /// What the relay may have ends there, by the same span. Without a relay, an item that was
  /// attempted is looked at before its next attempt.
  private func expire(at now: Moment) throws(StoreError) {
    for item in try file.expired(at: now, countMax: CoreLimits.expiredPerStep) {
      try declareVoid(item)
      try end(item, .expired)
    }
  }

  /// Lets the spans of items that were enqueued before the device was started anew count from now.
  ///
  /// The time in between is known by the time of day alone. If that is earlier than it was then, it
  /// is wrong, and the relay's is waited for.
  private func countAnew(at now: Moment) throws(StoreError) {
    let items = try file.itemsOfFormerBoots(
      before: state.boot, countMax: CoreLimits.expiredPerStep)
    var count = 0
    for item in items {
      let wall = now.wallMs + (state.wallCorrectionMs ?? 0)
      // A time before this library was made was no time of day, and says nothing.
      let isKnown = item.enqueuedAt.wallMs >= CoreLimits.plausibleWallMs
      let passed = isKnown ? wall - item.enqueuedAt.wallMs : 0
      guard passed >= 0 || state.wallCorrectionMs != nil else { continue }
      count += 1
      try file.rebase(
        item.id,
        onto: Moment(
          wallMs: now.wallMs, monotonicMs: now.monotonicMs - max(0, passed), boot: state.boot))
    }
    if count == CoreLimits.expiredPerStep { noteDue(now.monotonicMs + 1) }
  }
}

/// A request that was put together.
struct OutgoingRequest: Sendable {
  var method: String
  var path: String
  var headers: [HeaderLine] = []
  var body: ExchangeBody = .none
}

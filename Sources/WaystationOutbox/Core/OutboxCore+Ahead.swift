import RelayCore

/// The post that follows the one that is under way.
///
/// Its items are sealed, and on the disk as such, so it goes as soon as the relay has taken all
/// that is before it: the relay works on it while the device writes down what was taken.
struct PostAhead: Sendable {
  /// The items, in the order of their lines.
  let items: [Int64]
  /// The lines, without the question of a check-in before them.
  let lines: [UInt8]
  /// When they were written, by the time since the device's start.
  let writtenMs: Int64
  /// The last item of each lane.
  let through: [LaneNumber: Int64]
  /// How much of each item's body there is, for those who listen.
  let bodyBytes: [Int64]
}

// A post that is put together while another one is under way.
extension OutboxCore {
  /// Puts the next post together, if one is under way and so much waits that the next one is full.
  ///
  /// Where fewer wait, others may come, and would go in one post with them.
  func planAhead(at now: Moment) throws(StoreError) {
    guard try mayPlanAhead(at: now), let behind = state.exchanges.keys.first,
      behind != state.lookedBehind
    else { return }
    state.lookedBehind = behind
    let before = (state.walks, state.lastLane, state.wakeAt)
    let plan = try planBatch(at: now, isAhead: true)
    // It is looked at once more when they are signed.
    try askSigner(for: plan.unsigned, at: now)
    guard plan.upload == nil, plan.items.count >= state.batchItems else {
      (state.walks, state.lastLane, state.wakeAt) = before
      return
    }
    var lines: [UInt8] = []
    let sent = try write(plan.items, to: &lines, at: now)
    guard !sent.isEmpty else { return }
    state.underwayItems.formUnion(sent.map(\.id))
    state.ahead = PostAhead(
      items: sent.map(\.id), lines: lines, writtenMs: now.monotonicMs,
      through: Self.lastItems(sent), bodyBytes: sent.map(\.bodyBytes))
  }

  /// Whether only items are under way, and nothing but items may be next.
  private func mayPlanAhead(at now: Moment) throws(StoreError) -> Bool {
    guard settings.isRelay, !state.isPaused, state.ahead == nil, state.exchanges.count == 1,
      case .sync(let items, let voids, _)? = state.exchanges.values.first, !items.isEmpty,
      voids.isEmpty, !settings.asksReadiness, !state.custody.wantsKeys
    else { return false }
    var waiting = -items.count
    for lane in state.lanes.values where lane.line > 0 {
      let rules = settings.lane(lane.name)
      // The newest goes first there, and evidence asks for pages between posts.
      guard rules.order != .latest, !settings.wantsEvidence(of: lane.name) else { return false }
      waiting += lane.line
    }
    guard waiting >= state.batchItems else { return false }
    return try file.voidNumbers(countMax: 1).isEmpty
  }

  /// Sends the post ahead, if an answer has taken all that is before it and asks for nothing else;
  /// otherwise takes it apart.
  ///
  /// Nothing has been written of the answer yet. If that fails, the answer is taken once more, and
  /// this post goes once more, which the relay notices by its numbers.
  func sendAhead(
    after answer: SyncAnswer, voids: [VoidNumber], at now: Moment
  ) throws(StoreError) {
    guard let ahead = state.ahead else { return }
    let sending = settings.sending
    guard answer.tookAll(itemsPerBatch: ahead.items.count), voids.isEmpty, !state.isPaused,
      state.sender.maySend(at: now.monotonicMs, onConstrained: sending.onConstrainedNetworks),
      !state.mustRejoin, !state.custody.wantsKeys, state.givenUp.isEmpty,
      let lines = try lines(of: ahead, at: now)
    else { return try takeAheadApart() }
    state.ahead = nil
    state.underwayThrough = ahead.through
    let lanes = try laneQuestions()
    let body = question(lanes, since: answer.since ?? state.since) + lines
    var effects: [Effect] = []
    for (item, bytes) in zip(ahead.items, ahead.bodyBytes) {
      effects.append(
        .tell(.sending(Item.ID(raw: item), Progress(sent: 0, total: bytes, received: 0))))
    }
    effects.append(.send(begin(.sync(items: ahead.items, voids: [], lanes: lanes), post(body))))
    wantEarly(effects)
  }

  /// Its lines, as they are to go now.
  private func lines(of ahead: PostAhead, at now: Moment) throws(StoreError) -> [UInt8]? {
    now.monotonicMs - ahead.writtenMs < CoreLimits.linesStaleMs
      ? ahead.lines : try lines(of: ahead.items, at: now)
  }

  /// Takes the post ahead apart: nothing of it has left the device.
  func takeAheadApart() throws(StoreError) {
    guard let ahead = state.ahead else { return }
    state.ahead = nil
    for id in ahead.items {
      state.underwayItems.remove(id)
      guard var item = try file.item(id), item.state == .sealed else { continue }
      item.attempts = max(0, item.attempts - 1)
      // It keeps its number. If it is taken back, that is declared void.
      if item.attempts == 0 { item.state = .waiting }
      try file.update(item)
    }
  }

  /// Takes the post ahead apart if an item is in it that somebody wants to change.
  func takeAheadApart(for item: Int64) throws(StoreError) {
    if state.ahead?.items.contains(item) == true { try takeAheadApart() }
  }
}

extension SyncAnswer {
  /// Whether the relay has taken all of a post, and nothing speaks against another one at once.
  fileprivate func tookAll(itemsPerBatch: Int) -> Bool {
    retryAfterMs == nil && (self.itemsPerBatch ?? .max) >= itemsPerBatch
      && results.allSatisfy { if case .taken(_?, _) = $0 { true } else { false } }
      && lanes.allSatisfy {
        $0.blocker == nil && $0.missing.isEmpty && ($0.send ?? []).isEmpty
      }
  }
}

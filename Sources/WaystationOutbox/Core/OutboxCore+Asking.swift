import RelayCore

extension OutboxCore {
  /// An item as the app is shown it.
  func view(of item: KeptItem) -> Item {
    Item(
      id: Item.ID(raw: item.id), key: item.key, lane: Lane(name(of: item.lane)),
      tag: item.tag.map { Tag($0) }, sequence: item.sequence, state: shownState(of: item),
      attempts: item.attempts, lastError: item.error, bytes: item.bytes,
      enqueuedAt: Instant(milliseconds: item.enqueuedAt.wallMs), userData: item.userData)
  }

  private func shownState(of item: KeptItem) -> Item.State {
    switch item.state {
    case .held: .held
    case .waiting: .waiting
    case .sealed:
      .sending(Progress(sent: 0, total: item.bodyBytes, received: 0))
    case .atRelay: .atRelay(id: item.relayID ?? "")
    case .blocked: .blocked
    case .quarantined: .quarantined
    }
  }

  /// An item that is over, as the app is shown it.
  private func view(of ending: KeptEnding) -> Item {
    Item(
      id: Item.ID(raw: ending.id), key: ending.key, lane: Lane(name(of: ending.lane)),
      tag: ending.tag.map { Tag($0) }, sequence: ending.sequence, state: .ended(ending.outcome),
      attempts: ending.attempts, lastError: ending.error, bytes: ending.bytes,
      enqueuedAt: Instant(milliseconds: ending.enqueuedWallMs), userData: ending.userData)
  }

  /// The item of this number, over or not; nil if nobody knows it.
  func item(_ id: Item.ID) throws(StoreError) -> Item? {
    if let item = try file.item(id.raw) { return view(of: item) }
    return try file.ending(id.raw).map(view)
  }

  /// Items that are not over, in the order in which they were enqueued.
  func items(_ filter: Filter, after: Item.ID?, countMax: Int) throws(StoreError) -> [Item] {
    try kept(filter, after: after?.raw ?? 0, countMax: countMax).map(view)
  }

  /// The same as they are kept.
  func kept(_ filter: Filter, after: Int64, countMax: Int) throws(StoreError) -> [KeptItem] {
    guard countMax > 0 else { return [] }
    switch filter {
    case .all: return try file.items(after: after, countMax: countMax)
    case .lane(let lane):
      guard let number = state.laneNumbers[lane.name] else { return [] }
      return try file.items(of: number, after: after, countMax: countMax)
    case .tag(let tag): return try file.items(tag: tag.name, after: after, countMax: countMax)
    case .collection(let name):
      var found: [KeptItem] = []
      for tag in settings.tags(of: name).sorted() {
        found += try file.items(tag: tag, after: after, countMax: countMax)
      }
      return Array(found.sorted { $0.id < $1.id }.prefix(countMax))
    case .ids(let ids):
      var found: [KeptItem] = []
      for id in ids.map(\.raw).sorted() where id > after && found.count < countMax {
        if let item = try file.item(id) { found.append(item) }
      }
      return found
    case .needsAttention: return try file.itemsNeedingAttention(after: after, countMax: countMax)
    }
  }

  /// The outbox at a glance.
  func status(at now: Moment) throws(StoreError) -> Status {
    let total = state.total
    var lanes: [Lane: LaneStatus] = [:]
    for lane in state.lanes.values {
      let blocker = state.attention > 0 ? try file.blocker(of: lane.number) : nil
      lanes[Lane(lane.name)] = LaneStatus(
        waiting: lane.items, head: lane.next - 1, receipted: receipted(lane.number),
        custodyFault: state.custody.faults[lane.number]
          ?? state.custody.proofs[lane.number]?.fault,
        makesReceipts: state.checkedInAt == nil ? nil : relayMakesReceipts,
        blockedBy: blocker.map { Item.ID(raw: $0.id) },
        isPaused: lane.isPaused)
    }
    let next = try nextMoment(at: now).map { due in
      Instant(milliseconds: now.wallMs).adding(milliseconds: max(0, due - now.monotonicMs))
    }
    return Status(
      waiting: total.items, bytes: total.bytes,
      oldest: try file.oldestWallMs().map { Instant(milliseconds: $0) },
      link: state.sender.link, lanes: lanes, needsAttention: state.attention,
      nextAttempt: total.items > 0 ? next : nil, isPaused: state.isPaused,
      signerFailure: signerFailure(at: now))
  }

  /// What is known of an item for one who has just handed it over.
  func standing(of id: Item.ID, at now: Moment) throws(StoreError) -> Outcome? {
    guard let item = try file.item(id.raw) else { return try file.ending(id.raw)?.outcome }
    if item.state.needsAttention, let error = item.error { return .refused(nil, error) }
    if !item.isHanded, let failure = state.sender.standingFailure(at: now.monotonicMs) {
      return .connection(failure)
    }
    return .stillWaiting(id)
  }
}

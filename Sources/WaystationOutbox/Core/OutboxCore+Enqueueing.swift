import RelayCore

/// An item as it is handed over, checked already.
struct NewItem: Sendable {
  var key: String
  /// Whether the key was made for it just now, so that no other item can have it.
  var isFresh = false
  var lane: String
  var tag: String?
  var hold = false
  var coalesce: String?
  var expiresMs: Int64?
  var notBeforeMs: Int64?
  var onRefusal: OnRefusal?
  var userData: [UInt8] = []
  var request: KeptRequest
  var body: NewBody
  /// The version of a command, whose bytes are the body; nil for a request.
  var commandVersion: Int?

  /// By what it is known when its key comes again.
  var fingerprint: Fingerprint {
    Fingerprint(request, body, commandVersion: commandVersion)
  }

  /// What it takes of the limits.
  var byteCount: Int64 {
    let texts = [key, lane, tag ?? "", request.method, request.path, request.upstream ?? ""]
    let headers = request.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    return Int64(texts.reduce(0) { $0 + $1.utf8.count } + headers + userData.count)
      + body.byteCount
  }
}

extension OutboxCore {
  /// Takes items in, all of them or none.
  ///
  /// One whose key is known is the same item: its number is returned, and nothing is stored twice.
  /// Another request under a known key is refused.
  ///
  /// - Returns: Their numbers, or why they are not taken; nothing is changed then.
  func enqueue(
    _ batch: [NewItem], at now: Moment
  ) throws(StoreError) -> Result<[Item.ID], EnqueueError> {
    // One item that is not taken has changed nothing, unless others were dropped for it.
    if batch.count == 1, case .refuse = settings.limits.whenFull {
      return try enqueue(batch[0], at: now).map { [$0] }
    }
    let before = (state, effects.count)
    try file.begin(.savepoint)
    var ids: [Item.ID] = []
    for new in batch {
      switch try enqueue(new, at: now) {
      case .success(let id): ids.append(id)
      case .failure(let error):
        try file.takeBack(.savepoint)
        takeBack(to: before)
        return .failure(error)
      }
    }
    try file.keep(.savepoint)
    return .success(ids)
  }

  private func enqueue(
    _ new: NewItem, at now: Moment
  ) throws(StoreError) -> Result<Item.ID, EnqueueError> {
    if !new.isFresh, let known = try known(new) { return known }
    if let lack = try makeRoom(for: new) { return .failure(lack) }
    let lane = lane(named: new.lane)
    let former = try coalesced(new, in: lane.number)
    let item = KeptItem(
      id: state.nextItem, lane: lane.number, state: new.hold ? .held : .waiting, key: new.key,
      tag: new.tag, coalesce: new.coalesce, bodyKind: new.body.kind,
      bodyBytes: new.body.byteCount, bytes: new.byteCount, enqueuedAt: now,
      expiresMs: new.expiresMs, notBeforeMs: new.notBeforeMs, onRefusal: new.onRefusal,
      attempts: 0, commandVersion: new.commandVersion, userData: new.userData)
    state.nextItem += 1
    try file.insert(item, new.request, new.body)
    if !new.isFresh { try file.insert(new.fingerprint, of: item.id) }
    change(lane.number) { lane in
      lane.items += 1
      lane.line += 1
      lane.bytes += item.bytes
    }
    if let former {
      tell(.coalesced(Item.ID(raw: former.id), by: Item.ID(raw: item.id)))
      try declareVoid(former)
      try end(former, .cancelled, error: .coalesced)
    }
    tell(.enqueued(view(of: item)))
    beginLingering(at: now)
    return .success(Item.ID(raw: item.id))
  }

  private func coalesced(
    _ new: NewItem, in lane: LaneNumber
  ) throws(StoreError) -> KeptItem? {
    guard let name = new.coalesce else { return nil }
    return try file.coalesced(lane, name)
  }

  /// The item of the same key; nil if there is none.
  private func known(_ new: NewItem) throws(StoreError) -> Result<Item.ID, EnqueueError>? {
    let lane = state.laneNumbers[new.lane]
    let found: (id: Int64, isSame: Bool)
    if let item = try file.item(key: new.key) {
      found = (item.id, item.lane == lane)
    } else if let ending = try file.ending(key: new.key) {
      found = (ending.id, ending.lane == lane)
    } else {
      return nil
    }
    guard found.isSame, try !file.differs(found.id, from: new.fingerprint) else {
      return .failure(.keyConflict(Item.ID(raw: found.id)))
    }
    if let name = new.body.fileName { want(.removeFile(name)) }
    return .success(Item.ID(raw: found.id))
  }

  /// Holds a new item to the limits, and drops older ones for it if the settings say so.
  ///
  /// - Returns: What there is no room of.
  private func makeRoom(for new: NewItem) throws(StoreError) -> EnqueueError? {
    guard new.byteCount <= settings.limits.bytes else { return .tooLarge }
    guard let lack = lack(for: new) else { return nil }
    guard case .dropOldest(let lanes) = settings.limits.whenFull else { return .full(lack) }
    var dropped: [Item.ID] = []
    for lane in lanes.map(\.name).sorted() {
      guard let number = state.laneNumbers[lane] else { continue }
      try drop(from: number, for: new, &dropped)
    }
    if !dropped.isEmpty { tell(.dropped(dropped, settings.limits.whenFull)) }
    return self.lack(for: new).map { .full($0) }
  }

  private func lack(for new: NewItem) -> Limit? {
    let total = state.total
    if total.items >= settings.limits.items { return .items }
    return total.bytes + new.byteCount > settings.limits.bytes ? .bytes : nil
  }

  private func drop(
    from lane: LaneNumber, for new: NewItem, _ dropped: inout [Item.ID]
  ) throws(StoreError) {
    var after: Int64 = 0
    while lack(for: new) != nil {
      let items = try file.line(of: lane, after: after, countMax: CoreLimits.lookedAtPerLane)
      guard let last = items.last else { return }
      after = last.id
      for item in items where item.state == .waiting || item.state == .held {
        guard lack(for: new) != nil else { return }
        try declareVoid(item)
        try end(item, .cancelled, error: .dropped)
        dropped.append(Item.ID(raw: item.id))
      }
    }
  }

  private func beginLingering(at now: Moment) {
    let linger = settings.sending.linger.milliseconds
    guard linger > 0, state.lingerUntil == nil else { return }
    state.lingerUntil = now.monotonicMs + linger
  }
}

extension RecordedError {
  /// A later item has taken its place.
  static let coalesced = RecordedError(id: "coalesced", message: "A later item took its place.")
  /// It was dropped at a limit.
  static let dropped = RecordedError(id: "dropped", message: "It was dropped to make room.")
}

import RelayCore

/// What goes in the next post.
struct BatchPlan {
  /// The items, in the order in which they go.
  var items: [KeptItem] = []
  /// An item whose body is uploaded by itself.
  var upload: KeptItem?
  /// Those that would go, and have to be signed first.
  var unsigned: [KeptItem] = []
  var bytes: Int64 = 0
}

extension OutboxCore {
  /// Chooses what goes in the next post: from each lane in its order, the lanes in turn.
  ///
  /// - Parameter isAhead: Whether it goes behind what is under way.
  func planBatch(at now: Moment, isAhead: Bool = false) throws(StoreError) -> BatchPlan {
    var plan = BatchPlan()
    guard !isLingering(at: now) else { return plan }
    let lanes = lanesInTurn()
    let share = max(1, state.batchItems / max(1, lanes.count))
    for lane in lanes {
      let before = plan.items.count
      let start = isAhead ? state.underwayThrough[lane.number] : nil
      try take(
        from: lane, behind: start ?? 0, atMost: itemsMax(of: lane, share: share), into: &plan,
        at: now)
      if plan.items.count > before { state.lastLane = lane.number }
      if plan.items.count >= state.batchItems { break }
    }
    return plan
  }

  /// Whether items are still being collected.
  private func isLingering(at now: Moment) -> Bool {
    guard let until = state.lingerUntil, now.monotonicMs < until, state.runs.isEmpty else {
      return false
    }
    return state.lanes.values.reduce(0) { $0 + $1.line } < state.batchItems
  }

  /// The lanes that may have something to go, the one after the last one first.
  func lanesInTurn() -> [KeptLane] {
    let lanes = state.lanes.values.filter { $0.line > 0 && !$0.isPaused }
      .sorted { $0.number < $1.number }
    guard let last = state.lastLane, let place = lanes.firstIndex(where: { $0.number > last })
    else { return lanes }
    return Array(lanes[place...] + lanes[..<place])
  }

  private func take(
    from lane: KeptLane, behind first: Int64, atMost share: Int, into plan: inout BatchPlan,
    at now: Moment
  ) throws(StoreError) {
    let order = settings.lane(lane.name).order
    let start: Int64 = order == .latest ? .max : first
    var from = state.walks.removeValue(forKey: lane.number) ?? start
    var left = share
    var passedOver = 0
    var isSigned = true
    while left > 0 {
      // Thousands that are held must not make each transaction long.
      guard order == .strict || passedOver < CoreLimits.passedOverMax else {
        state.walks[lane.number] = from
        return noteDue(now.monotonicMs + 1)
      }
      let page = min(left, CoreLimits.lookedAtPerLane)
      let items =
        order == .latest
        ? try file.newest(of: lane.number, before: from, countMax: page)
        : try file.line(of: lane.number, after: from, countMax: page)
      guard let last = items.last else { return }
      from = last.id
      for item in items {
        switch try standing(of: item, order, at: now) {
        case .stands: return
        case .passedOver:
          passedOver += 1
          continue
        case .goes: break
        }
        if try lacksSignature(item) {
          isSigned = false
          plan.unsigned.append(item)
          left -= 1
          guard left > 0 else { return }
          continue
        }
        // What is signed already waits for what stands before it.
        guard isSigned else { return }
        if isUploaded(item) {
          // In a strict lane it waits for what is before it, and what is behind it for it.
          if plan.upload == nil, order != .strict || left == share { plan.upload = item }
          if order == .strict { return }
          continue
        }
        guard plan.items.isEmpty || plan.bytes + item.bytes <= Int64(state.batchBytes),
          plan.items.count < state.batchItems
        else { return }
        plan.items.append(item)
        plan.bytes += item.bytes
        left -= 1
      }
    }
  }

  /// Whether an item's body goes by itself, in parts that go on after a cut.
  ///
  /// What went in a post before goes so again, as long as no post is refused for its size.
  func isUploaded(_ item: KeptItem) -> Bool {
    guard settings.isRelay, item.commandVersion == nil else { return false }
    if item.upload != nil || item.bodyBytes >= settings.sending.uploadBytes { return true }
    guard let from = state.uploadsFrom, item.state != .sealed || item.attempts == 0 else {
      return false
    }
    return item.bodyBytes >= from
  }

  // MARK: - One item

  /// What an item does in its lane.
  enum Standing {
    /// It may go.
    case goes
    /// It does not go, and others do.
    case passedOver
    /// It does not go, and the lane stands behind it.
    case stands
  }

  /// What an item of the line does, and what is done for it.
  func standing(
    of item: KeptItem, _ order: Order, at now: Moment
  ) throws(StoreError) -> Standing {
    guard try reason(of: item, at: now) == nil else {
      let skips = item.state.needsAttention && onRefusal(of: item) == .skip
      return order == .strict && !skips ? .stands : .passedOver
    }
    return .goes
  }

  /// Why an item does not go by itself just now; nil if it does.
  func reason(of item: KeptItem, at now: Moment) throws(StoreError) -> SkipReason? {
    switch item.state {
    case .blocked, .quarantined: return .laneBlocked
    case .held: return .held
    case .atRelay: return .ended
    case .waiting where isUnreadable(item, at: now), .sealed where isUnreadable(item, at: now):
      return .notReady
    case .sealed:
      return state.underwayItems.contains(item.id) ? .behind(Item.ID(raw: item.id)) : nil
    case .waiting: break
    }
    if let notBefore = item.notBeforeMs, let passed = now.milliseconds(since: item.enqueuedAt),
      passed < notBefore
    {
      noteDue(now.monotonicMs + notBefore - passed)
      return .notBefore
    }
    return try preparation(of: item, at: now)
  }

  /// Whether an item's body could not be read a moment ago.
  private func isUnreadable(_ item: KeptItem, at now: Moment) -> Bool {
    guard let until = state.unreadable[item.id]?.until, now.monotonicMs < until else {
      return false
    }
    noteDue(until)
    return true
  }

  /// Has the app asked about an item, where it has something to say.
  private func preparation(of item: KeptItem, at now: Moment) throws(StoreError) -> SkipReason? {
    guard settings.asksReadiness || item.commandVersion != nil else { return nil }
    switch state.preparations[item.id] {
    case .ready?: return nil
    case .skipped(nil, let reason)?: return reason
    case .skipped(let until?, let reason)? where now.monotonicMs < until:
      noteDue(until)
      return reason
    case .skipped?, nil: break
    }
    guard state.preparing == nil else { return .notReady }
    var command: (stored: [UInt8], version: Int)?
    if let version = item.commandVersion {
      guard let content = try readableContent(of: item) else { return .laneBlocked }
      if case .bytes(let bytes) = content.body {
        command = (bytes, version)
      } else {
        command = ([], version)
      }
    }
    try beginPreparing(item)
    want(.prepare(view(of: item), command: command))
    return .notReady
  }

  // MARK: - Sealing

  /// Lets an item go as it is from now on, under its number.
  func seal(_ item: KeptItem) throws(StoreError) -> KeptItem {
    var sealed = item
    if item.state == .waiting {
      sealed.state = .sealed
      // It goes exactly so again, whatever the settings say by then.
      sealed.onRefusal = onRefusal(of: item)
      sealed.relayLane = relayLane(of: item)
      if settings.isRelay, item.sequence == nil, settings(of: item.lane).order == .strict {
        sealed.sequence = state.lanes[item.lane]?.next ?? 1
        change(item.lane) { $0.next += 1 }
      }
    }
    sealed.attempts += 1
    state.preparations[item.id] = nil
    try file.seal(sealed)
    return sealed
  }

  /// The name under which the relay knows an item's lane.
  ///
  /// Items of a lane without order stand in several lanes there, so that they do not wait for each
  /// other.
  func relayLane(of item: KeptItem) -> String {
    if let sealed = item.relayLane { return sealed }
    let name = name(of: item.lane)
    guard case .none(let parallel) = settings.lane(name).order, parallel > 1 else { return name }
    return "\(name)~\(item.id % Int64(parallel))"
  }

  /// A post of these items and void numbers, with the question of a check-in before them.
  func sync(
    _ items: [KeptItem], _ voids: [VoidNumber], at now: Moment
  ) throws(StoreError) -> OutgoingExchange {
    state.lingerUntil = nil
    let lanes = try laneQuestions()
    var body = question(lanes, since: state.since)
    for void in voids {
      SyncRequest.append(
        void: void.sequence, lane: name(of: void.lane), client: settings.client, to: &body)
    }
    let sent = try write(items, to: &body, at: now)
    state.underwayThrough = Self.lastItems(sent)
    for item in sent {
      tell(.sending(Item.ID(raw: item.id), Progress(sent: 0, total: item.bodyBytes, received: 0)))
    }
    return begin(.sync(items: sent.map(\.id), voids: voids, lanes: lanes), post(body))
  }

  /// The line before the items.
  func question(_ lanes: [SyncRequest.LaneQuestion], since: String?) -> [UInt8] {
    var line = SyncRequest.question(
      client: settings.client, lanes: lanes, since: since,
      responseBytes: settings.sending.responseBytes)
    line.append(UInt8(ascii: "\n"))
    return line
  }

  /// The request that brings these lines.
  func post(_ lines: [UInt8]) -> OutgoingRequest {
    OutgoingRequest(
      method: "POST", path: "/v1/sync",
      headers: [HeaderLine(name: "Content-Type", value: "application/x-ndjson")] + preference(),
      body: .bytes(lines))
  }

  /// Seals items, and writes their lines.
  ///
  /// - Returns: Those that can be read.
  func write(
    _ items: [KeptItem], to body: inout [UInt8], at now: Moment
  ) throws(StoreError) -> [KeptItem] {
    var sent: [KeptItem] = []
    var standing: Set<LaneNumber> = []
    for item in items where !standing.contains(item.lane) {
      guard let (request, bytes) = try readable(item, at: now) else {
        if standsBehind(item) { standing.insert(item.lane) }
        continue
      }
      let content: KeptBody = bytes.isEmpty ? .none : .bytes(bytes)
      guard try goesAsSigned(item, request, content, at: now) else {
        standing.insert(item.lane)
        continue
      }
      let sealed = try seal(item)
      try cover(sealed, request, content)
      try append(sealed, request, bytes, to: &body, at: now)
      sent.append(sealed)
    }
    return sent
  }

  /// Writes the line of an item that is sealed.
  private func append(
    _ item: KeptItem, _ request: KeptRequest, _ bytes: [UInt8], to body: inout [UInt8],
    at now: Moment
  ) throws(StoreError) {
    let entry = SyncRequest.Entry(
      item: item, request: request, body: bytes, lane: relayLane(of: item),
      onRefusal: onRefusal(of: item), ageMs: now.milliseconds(since: item.enqueuedAt),
      signature: try signatureField(of: item))
    SyncRequest.append(entry, client: settings.client, to: &body)
  }

  /// The lines of items that are sealed; nil if one cannot be read any more.
  func lines(of items: [Int64], at now: Moment) throws(StoreError) -> [UInt8]? {
    var lines: [UInt8] = []
    for id in items {
      guard let item = try file.item(id), let (request, bytes) = try readable(item, at: now)
      else { return nil }
      try append(item, request, bytes, to: &lines, at: now)
    }
    return lines
  }

  /// The last item of each lane.
  static func lastItems(_ items: [KeptItem]) -> [LaneNumber: Int64] {
    items.reduce(into: [:]) { $0[$1.lane] = max($0[$1.lane] ?? 0, $1.id) }
  }

  /// Whether a lane stands behind an item that could not be read.
  private func standsBehind(_ item: KeptItem) -> Bool {
    guard settings(of: item.lane).order == .strict else { return false }
    return state.unreadable[item.id] != nil || onRefusal(of: item) == .block
  }

  /// A request and the bytes of its body; nil if they cannot be read.
  ///
  /// A disk that fails is asked again for a while. Then the item waits for somebody, as it does at
  /// once if its body is gone, and all others go on.
  func readable(
    _ item: KeptItem, at now: Moment
  ) throws(StoreError) -> (request: KeptRequest, bytes: [UInt8])? {
    guard let (request, body) = try readableContent(of: item) else { return nil }
    switch body {
    case .none: return (request, [])
    case .bytes(let bytes): return (request, bytes)
    case .file(let path, _, let sums):
      do throws(StoreError) {
        let bytes = try BodyFile.read(path, sums)
        state.unreadable[item.id] = nil
        return (request, bytes)
      } catch {
        guard error.kind != .corrupt else {
          try loseBody(of: item, error)
          return nil
        }
        let since = state.unreadable[item.id]?.since ?? now.monotonicMs
        let until = now.monotonicMs + CoreLimits.unreadablePauseMs
        state.unreadable[item.id] = (since, until)
        if now.monotonicMs - since >= CoreLimits.unreadableMsMax {
          try loseBody(of: item, error)
        }
        return nil
      }
    }
  }

  /// What an item was to bring is lost: it waits for somebody.
  private func loseBody(of item: KeptItem, _ error: StoreError) throws(StoreError) {
    state.unreadable[item.id] = nil
    try block(item, by: .app, .bodyLost(error))
  }

  /// The same without reading a file.
  func readableContent(
    of item: KeptItem
  ) throws(StoreError) -> (request: KeptRequest, body: KeptBody)? {
    do throws(StoreError) {
      guard let content = try content(of: item) else { throw .contentGone(item.id) }
      return content
    } catch {
      guard error.kind == .corrupt else { throw error }
      try block(item, by: .app, .bodyLost(error))
      return nil
    }
  }

  /// The numbers that the device may still have to send, lane by lane.
  func laneQuestions() throws(StoreError) -> [SyncRequest.LaneQuestion] {
    var questions: [SyncRequest.LaneQuestion] = []
    for lane in state.lanes.values.sorted(by: { $0.number < $1.number })
    where lane.items > 0 && lane.next > 1 && settings.lane(lane.name).order == .strict {
      guard questions.count < CoreLimits.askedLanesMax else { break }
      let first = try file.lowestNumber(of: lane.number) ?? lane.next - 1
      questions.append(
        SyncRequest.LaneQuestion(name: lane.name, first: first, last: lane.next - 1))
    }
    return questions
  }
}

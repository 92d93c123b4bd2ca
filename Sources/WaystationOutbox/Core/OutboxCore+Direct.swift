import RelayCore

// Straight to the upstream: each item is a request of its own, and the device does by itself what a
// relay would do.
extension OutboxCore {
  /// The next item that goes to the upstream.
  func nextDirect(at now: Moment) throws(StoreError) -> OutgoingExchange? {
    guard state.exchanges.count < max(1, settings.sending.parallel) else { return nil }
    for lane in lanesInTurn() {
      if let wait = state.laneWaits[lane.number], now.monotonicMs < wait.until {
        noteDue(wait.until)
        continue
      }
      guard let item = try nextDirect(in: lane, at: now) else { continue }
      state.lastLane = lane.number
      guard let (request, body) = try readableContent(of: item) else {
        noteDue(now.monotonicMs + 1)
        continue
      }
      let sealed = try seal(item)
      return begin(.direct(item: item.id), Self.direct(sealed, request, body))
    }
    return nil
  }

  private func nextDirect(
    in lane: KeptLane, at now: Moment
  ) throws(StoreError) -> KeptItem? {
    let order = settings.lane(lane.name).order
    let underway = try underwayCount(in: lane.number)
    if case .none(let parallel) = order {
      guard underway < max(1, parallel) else { return nil }
    } else {
      guard underway == 0 else { return nil }
    }
    var from: Int64 = order == .latest ? .max : 0
    while true {
      let page = CoreLimits.lookedAtPerLane
      let items =
        order == .latest
        ? try file.newest(of: lane.number, before: from, countMax: page)
        : try file.line(of: lane.number, after: from, countMax: page)
      guard let last = items.last else { return nil }
      from = last.id
      for item in items {
        if try expireSealed(item, at: now) { continue }
        switch try standing(of: item, order, at: now) {
        case .goes: return item
        case .passedOver: continue
        case .stands: return nil
        }
      }
    }
  }

  private func underwayCount(in lane: LaneNumber) throws(StoreError) -> Int {
    var count = 0
    for id in state.underwayItems {
      if try file.item(id)?.lane == lane { count += 1 }
    }
    return count
  }

  /// Ends an item that was attempted, if its time is over.
  private func expireSealed(_ item: KeptItem, at now: Moment) throws(StoreError) -> Bool {
    guard item.state == .sealed, !state.underwayItems.contains(item.id),
      let expires = item.expiresMs, let passed = now.milliseconds(since: item.enqueuedAt),
      passed >= expires
    else { return false }
    try end(item, .expired)
    return true
  }

  private static func direct(
    _ item: KeptItem, _ request: KeptRequest, _ body: KeptBody
  ) -> OutgoingRequest {
    var outgoing = OutgoingRequest(
      method: request.method, path: request.path, headers: request.headers)
    if !request.headers.contains(where: { $0.name.lowercased() == "idempotency-key" }) {
      outgoing.headers.append(HeaderLine(name: "Idempotency-Key", value: item.key))
    }
    outgoing.body =
      switch body {
      case .none: .none
      case .bytes(let bytes): .bytes(bytes)
      case .file(let path, let count, let sums):
        .file(FileStretch(path, from: 0, count, of: count, sums))
      }
    return outgoing
  }

  /// Takes the upstream's answer.
  func takeDirect(_ response: Response, of id: Int64, at now: Moment) throws(StoreError) {
    guard let item = try file.item(id) else { return }
    switch response.status {
    case 200...299:
      state.sender.answered()
      state.laneWaits[item.lane] = nil
      try end(item, .delivered, response: kept(response))
    case 401:
      signOut(at: now)
    case 511:
      notReachable(
        ConnectionFailure(
          reason: "the network wants one to sign in",
          mayHaveArrived: false), at: now)
    case let status where (status == 429 || status == 503) && response.retryAfterMs != nil:
      limited("the upstream answered \(status)", afterMs: response.retryAfterMs, at: now)
    case 300...399, 408, 425, 429, 500...599:
      // A redirection may be a network's that wants one to sign in.
      try again(item, response, at: now)
    default:
      state.sender.answered()
      let words = "The upstream answered \(response.status)."
      try refuse(
        item, by: .upstream, .upstream(response, reason: words), response: kept(response))
    }
  }

  /// The item waits, and its lane with it; other lanes go on.
  private func again(
    _ item: KeptItem, _ response: Response, at now: Moment
  ) throws(StoreError) {
    state.sender.answered()
    var answered = item
    answered.answers += 1
    try file.update(answered)
    if let most = settings(of: item.lane).attemptsMax, answered.answers >= most {
      let error = RecordedError(
        id: "attempts",
        message: "It was answered \(answered.answers) times; the last one was \(response.status).")
      return try refuse(answered, by: .upstream, error, response: kept(response))
    }
    var wait =
      state.laneWaits[item.lane]
      ?? LaneWait(until: 0, backoff: Backoff(settings.sending.backoff))
    wait.until = now.monotonicMs + wait.backoff.next(random: random())
    state.laneWaits[item.lane] = wait
    noteUndelivered(item.id)
  }

  /// An answer as far as it is kept.
  private func kept(_ response: Response) -> Response {
    let most = settings.sending.responseBytes
    guard response.body.count > most else { return response }
    return Response(
      status: response.status, headers: response.headers,
      body: Array(response.body.prefix(most)), isCut: true)
  }
}

import HTTPServer
import RelayCore

/// `POST /v1/checkin`: one round trip in which a device learns all that it needs to go on.
struct CheckIn {
  private let context: EndpointContext

  init(_ context: EndpointContext) { self.context = context }

  /// The most endings that one answer lists.
  static let endingsMax = 1000

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    guard !context.relay.isDraining else { throw .draining() }
    let question = try CheckInQuestion(
      try await CommandBody(context).read(request), from: context.caller.client)
    var memory = MemoryReservation(context, request.origin)
    defer { memory.giveBack() }
    var view = try await answer(to: question, &memory)
    await view.addReceipts(as: Preferences(request.head.values(of: "Prefer")), context)
    let json = view.json()
    var response = HTTPResponse.freshJSON(json, holding: memory.handOver(json.count))
    view.noteApplied(in: &response)
    return response
  }

  /// What there is to tell.
  func answer(
    to question: CheckInQuestion, _ memory: inout MemoryReservation
  ) async throws(Problem) -> CheckInView {
    let page: CheckInPage
    let record: ClientRecord?
    let blocked: [LaneNumber: BlockedEnvelope]
    do throws(StoreError) {
      page =
        try await context.store.checkIn(
          question.client, seenThrough: question.since, countMax: Self.endingsMax)
        ?? CheckInPage(endings: [], toldThrough: 0, hasMore: false)
      record = try await context.store.client(question.client)
      blocked = try await blockedLanes(of: record)
    } catch {
      throw context.problem(error)
    }
    var view = CheckInView(
      client: question.client, time: context.relay.now().wall,
      lanes: lanes(question, record, blocked),
      allowance: allowance(of: question.client, record?.number),
      page: page)
    view.credentialEndsAt = context.caller.expiresAt
    view.credentialRenewableUntil = context.caller.renewableUntil
    view.takesUploads = context.takesUploads
    view.makesReceipts = context.rules.makesReceipts
    if let bodyBytesMax = question.responseBytesMax {
      view.responses = try await EndingResponses(context).read(
        page.endings, bodyBytesMax: bodyBytesMax, &memory)
    }
    return view
  }

  /// The answer where nothing can be looked up: the device is to stay away for a while, and to
  /// check in again.
  func least(to question: CheckInQuestion) -> CheckInView {
    let limits = context.limits
    var view = CheckInView(
      client: question.client, time: context.relay.now().wall, lanes: [],
      allowance: CheckInView.Allowance(
        envelopes: 0, bytes: 0, envelopesPerBatch: limits.batchCountMax,
        bytesPerBatch: limits.batchBytesMax, bodyBytesMax: limits.bodyBytesMax,
        retryAfterSeconds: retryAfterSeconds(isTroubled: true)),
      page: CheckInPage(endings: [], toldThrough: question.since, hasMore: true))
    view.credentialEndsAt = context.caller.expiresAt
    view.credentialRenewableUntil = context.caller.renewableUntil
    view.takesUploads = context.takesUploads
    view.makesReceipts = context.rules.makesReceipts
    return view
  }

  /// What blocks which of a client's lanes.
  ///
  /// The store is asked only where a lane is blocked.
  private func blockedLanes(
    of record: ClientRecord?
  ) async throws(StoreError) -> [LaneNumber: BlockedEnvelope] {
    guard let record else { return [:] }
    let heads = context.relay.dispatcher.blockedHeads(of: record.lanes.lazy.map(\.number))
    guard !heads.isEmpty else { return [:] }
    let ids = try await context.store.ids(of: heads.map(\.serial))
    let blocked = try await context.blockedEnvelopes(heads.compactMap { ids[$0.serial] })
    return Dictionary(blocked.map { ($0.summary.lane, $0) }) { first, _ in first }
  }

  /// The lanes that the device named, and those that are blocked beside them; all of its lanes, if
  /// it named none.
  private func lanes(
    _ question: CheckInQuestion, _ record: ClientRecord?,
    _ blocked: [LaneNumber: BlockedEnvelope]
  ) -> [CheckInView.Lane] {
    let known = record?.lanes ?? []
    var wanted = question.lanes
    let names = Set(wanted.map(\.name))
    let others = known.filter {
      names.isEmpty || (blocked[$0.number] != nil && !names.contains($0.name))
    }
    wanted += others.prefix(StoreLimits.lanesShownMax - wanted.count)
      .map { CheckInQuestion.Lane(name: $0.name) }
    return wanted.map { lane in
      let record = known.first { $0.name == lane.name }
      var view = view(of: lane, record)
      view.blockedBy = record.flatMap { blocked[$0.number] }
      return view
    }
  }

  private func view(of lane: CheckInQuestion.Lane, _ record: LaneRecord?) -> CheckInView.Lane {
    let highest = record?.highestSequence ?? record?.lastSequence
    let held = HeldNumbers(highest: highest ?? 0, missing: record?.missing ?? .none)
    // A lane of the order `latest` takes no numbers, so there is nothing to ask for by them.
    let isNumbered = context.rules.lanes.rules(ofLane: lane.name).order == .strict
    return CheckInView.Lane(
      name: lane.name, lastSequence: record?.lastSequence, highestSequence: highest,
      missing: held.missing, skipped: Self.skipped(lane.numbers, record?.skipped ?? []),
      send: isNumbered ? lane.numbers.map(held.lacking(of:)) : nil,
      waiting: record.flatMap { context.relay.dispatcher.laneView($0.number)?.waiting } ?? 0)
  }

  /// The device's numbers that are not taken any more; all such numbers if it named none.
  private static func skipped(
    _ numbers: SequenceRange?, _ ranges: [SequenceRange]
  ) -> [SequenceRange] {
    guard let numbers else { return ranges }
    return ranges.compactMap { $0.overlap(with: numbers) }
  }

  /// By what the next post will be judged by: what waits, and what is claimed beside it, as by open
  /// uploads.
  private func allowance(
    of client: String, _ number: ClientNumber?
  ) -> CheckInView.Allowance {
    let limits = context.limits
    let quotas = context.relay.quotas
    var envelopes = limits.waitingEnvelopesMax
    var bytes =
      context.relay.embedded?.files().shownRoomBytes ?? SequenceSyntax.range.upperBound
    let isTroubled = bytes <= 0 || context.store.statistics().trouble != nil
    let used = quotas.used(by: client, number)
    for (quota, use) in [
      (quotas.rules.everybody, used.byAll), (quotas.rules.waiting(of: client), used.byClient),
    ] {
      if let countMax = quota.envelopesMax { envelopes = min(envelopes, countMax - use.count) }
      if let bytesMax = quota.bytesMax { bytes = min(bytes, Int64(bytesMax) - use.bytes) }
    }
    if isTroubled { (envelopes, bytes) = (0, 0) }
    let isFull = envelopes <= 0 || bytes <= 0
    return CheckInView.Allowance(
      envelopes: max(0, envelopes), bytes: max(0, bytes),
      envelopesPerBatch: limits.batchCountMax, bytesPerBatch: limits.batchBytesMax,
      bodyBytesMax: limits.bodyBytesMax,
      retryAfterSeconds: isFull && !isTroubled
        ? untilRoom(waiting: used.byClient.count) : retryAfterSeconds(isTroubled: isTroubled))
  }

  /// As a post is told that exceeds the quota.
  private func untilRoom(waiting: Int) -> Int {
    let relay = context.relay
    return RetryHint.untilRoom(
      waiting: waiting, total: relay.quotas.total.count,
      deliveredPerSecond: relay.meter.perSecond(.delivered, at: relay.now().monotonic))
  }

  /// Drawn at random above the least, so that those who were sent away do not come back together.
  private func retryAfterSeconds(isTroubled: Bool) -> Int? {
    let least: Int
    if isTroubled {
      least = RetryHint.troubleSeconds
    } else if context.relay.memory.isScarce {
      least = RetryHint.overloadSeconds
    } else {
      return nil
    }
    return RetryHint.spread(least)
  }
}

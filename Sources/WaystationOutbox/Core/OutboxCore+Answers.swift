import RelayCore

extension OutboxCore {
  /// Takes what came of a request.
  ///
  /// - Parameter fault: How the file that it brings is not what was kept; nil if it is.
  func take(
    _ result: Result<Response, ConnectionFailure>, of number: ExchangeNumber,
    fault: String? = nil, at now: Moment
  ) throws(StoreError) {
    guard let underway = state.exchanges.removeValue(forKey: number) else { return }
    switch underway {
    case .sync(let items, _, _): state.underwayItems.subtract(items)
    case .direct(let item), .upload(let item, _): state.underwayItems.remove(item)
    case .rejoin, .inquiry, .giveUp, .keys, .ledger: break
    }
    let answer = try goAhead(result, underway, at: now)
    switch (underway, result) {
    case (_, .failure(let failure)):
      if let fault { return try loseBody(underway, fault) }
      try failed(failure, underway, at: now)
    case (.direct(let item), .success(let response)):
      try takeDirect(response, of: item, at: now)
    case (_, .success(let response)):
      // The answer to a HEAD has no body that could say what is wrong.
      var isUnknownUpload = false
      if case .upload(_, .ask) = underway { isUnknownUpload = response.status == 404 }
      if !isUnknownUpload, try takeRefusal(response, at: now) {
        if case .keys = underway { state.custody.forgetWaiting() }
        return
      }
      switch underway {
      case .sync(let items, let voids, let lanes):
        try takeSync(response, answer, of: items, voids, lanes, at: now)
      case .rejoin: try takeRejoin(response, at: now)
      case .keys: try takeKeys(response, at: now)
      case .upload(let item, let step): try takeUpload(response, of: item, step, at: now)
      case .giveUp: state.sender.answered()
      case .inquiry(let item): try takeInquiry(response, of: item, at: now)
      case .ledger(let lane, let numbers): try takeLedger(response, of: lane, numbers, at: now)
      case .direct: break
      }
    }
  }

  /// Sends the post ahead or takes it apart, by what came of the one before it.
  ///
  /// - Returns: The answer to a post, read.
  private func goAhead(
    _ result: Result<Response, ConnectionFailure>, _ underway: Underway, at now: Moment
  ) throws(StoreError) -> SyncAnswer? {
    guard case .sync(let items, let voids, _) = underway, case .success(let response) = result,
      response.status == 200, let answer = SyncAnswer(response.body),
      answer.results.count == items.count + voids.count
    else {
      try takeAheadApart()
      return nil
    }
    try sendAhead(after: answer, voids: voids, at: now)
    return answer
  }

  /// Nobody has answered.
  private func failed(
    _ failure: ConnectionFailure, _ underway: Underway, at now: Moment
  ) throws(StoreError) {
    if case .upload(let item, _) = underway { state.uploadOffsets[item] = nil }
    if case .keys = underway { state.custody.forgetWaiting() }
    if !failure.mayHaveArrived { try unseal(underway) }
    notReachable(failure, at: now)
  }

  /// Nothing has left the device: what went for the first time can still be changed.
  ///
  /// It keeps its number. If it is taken back, that is declared void.
  private func unseal(_ underway: Underway) throws(StoreError) {
    var ids: [Int64] = []
    switch underway {
    case .sync(let items, _, _): ids = items
    case .direct(let item): ids = [item]
    case .upload, .rejoin, .inquiry, .giveUp, .keys, .ledger: break
    }
    for id in ids {
      guard var item = try file.item(id), item.state == .sealed, item.attempts == 1 else {
        continue
      }
      item.state = .waiting
      item.attempts = 0
      try file.update(item)
    }
  }

  /// Nobody has answered, or somebody who is not the relay.
  func notReachable(_ failure: ConnectionFailure, at now: Moment) {
    let until = state.sender.failed(failure, at: now.monotonicMs, random: random())
    let retryAt = Instant(milliseconds: now.wallMs).adding(milliseconds: until - now.monotonicMs)
    let told = ConnectionFailure(
      reason: failure.reason, mayHaveArrived: failure.mayHaveArrived, retryAt: retryAt)
    tell(.unreachable(told))
    noteUnreachable()
  }

  /// The credentials are refused: others are asked for, once.
  func signOut(at now: Moment) {
    let asks = state.sender.signOut(at: now.monotonicMs)
    want(.askCredentials(asks))
    noteUnreachable()
  }

  /// Somebody has asked to be left alone.
  func limited(_ reason: String, afterMs: Int64?, at now: Moment) {
    let until = state.sender.limited(
      reason, afterMs: afterMs, at: now.monotonicMs, random: random())
    let wall = Instant(milliseconds: now.wallMs).adding(milliseconds: until - now.monotonicMs)
    tell(.limited(until: wall, reason: reason))
    noteUnreachable()
  }

  /// Takes an answer that says nothing of the items themselves.
  ///
  /// - Returns: Whether it was one.
  private func takeRefusal(_ response: Response, at now: Moment) throws(StoreError) -> Bool {
    let problem = RelayProblem(response)
    let isRelay = problem != nil
    switch response.status {
    case 401: signOut(at: now)
    case 403 where isRelay, 408, 429, 500...510, 512...599:
      limited(
        problem?.words ?? "the relay answered \(response.status)",
        afterMs: response.retryAfterMs, at: now)
    case 413 where !isRelay:
      // A server in between takes no post of this size: it is halved, and nothing is blamed for it.
      state.batchItems = max(1, state.batchItems / 2)
      state.batchBytes = max(1, state.batchBytes / 2)
      notReachable(.notTheRelay, at: now)
    case let status where (300...399).contains(status) || status >= 400 && !isRelay:
      // A network's own page, or a server that is no relay.
      notReachable(
        ConnectionFailure(
          reason: "something that is not the relay answered \(response.status)",
          mayHaveArrived: false), at: now)
    default: return false
    }
    return true
  }

  // MARK: - Syncs

  private func takeSync(
    _ response: Response, _ answer: SyncAnswer?, of items: [Int64], _ voids: [VoidNumber],
    _ lanes: [SyncRequest.LaneQuestion], at now: Moment
  ) throws(StoreError) {
    guard response.status == 200 else {
      return try refusedWhole(response, items, voids, at: now)
    }
    guard let answer else { return notReachable(.notTheRelay, at: now) }
    try takeFacts(of: answer, at: now)
    for (void, result) in zip(voids, answer.results) { try takeVoid(void, result) }
    // First, since they bring the upstream's answers along.
    let ids = Self.ids(of: items, answer.results.dropFirst(voids.count))
    for ending in answer.ended { try takeEnded(ending, ids) }
    let pause = try takeResults(answer.results.dropFirst(voids.count), of: items)
    try takeReceipts(answer, at: now)
    try takeLanes(answer, asked: lanes, at: now)
    if let (words, afterMs) = pause {
      limited(words, afterMs: afterMs, at: now)
    } else if let afterMs = answer.retryAfterMs {
      limited("the relay asks for a pause", afterMs: afterMs, at: now)
    } else {
      state.sender.answered()
    }
    state.voidsGoAlone = false
    takeAllowance(of: answer)
  }

  /// How large the next posts may be.
  private func takeAllowance(of answer: SyncAnswer) {
    // What was halved grows again.
    state.batchItems = Self.grown(state.batchItems, to: settings.sending.batchItems)
    state.batchBytes = Self.grown(state.batchBytes, to: settings.sending.batchBytes)
    if let most = answer.itemsPerBatch { state.batchItems = max(1, min(state.batchItems, most)) }
    if let most = answer.bytesPerBatch {
      state.batchBytes = max(1, min(state.batchBytes, most / 2))
      // What is no text is half as long again in a post.
      if state.features.contains("uploads") { state.uploadsFrom = max(1, Int64(most / 2)) }
    }
  }

  /// Takes what became of each item of a post.
  ///
  /// - Returns: Why, and for how long, to stay away; nil if something has moved, and no
  ///   pause is asked for.
  private func takeResults(
    _ results: ArraySlice<SyncAnswer.Result>, of items: [Int64]
  ) throws(StoreError) -> (words: String, afterMs: Int64?)? {
    var pause: (words: String, afterMs: Int64?)?
    var renumbered: (item: KeptItem, problem: RelayProblem)?
    var hasMoved = items.isEmpty
    for (item, result) in zip(items, results) {
      guard let kept = try file.item(item) else {
        // The same answer has told of its end.
        if case .taken = result, let ending = try file.ending(item) { confirmNumber(of: ending) }
        hasMoved = true
        continue
      }
      switch result {
      case .taken(let id, let word):
        confirmNumber(of: kept)
        try takeTaken(kept, id: id, state: word)
        hasMoved = true
      case .void: break
      // It has told of it otherwise meanwhile.
      case .rejected where kept.isHanded: hasMoved = true
      case .rejected(let problem) where problem.mayPass:
        pause = (problem.words, problem.retryAfterMs)
      case .rejected(let problem) where problem.isAboutNumber:
        if renumbered == nil { renumbered = (kept, problem) }
        hasMoved = true
      case .rejected(let problem):
        try takeRejected(kept, problem)
        hasMoved = true
      }
    }
    // Last: what the relay has taken by now keeps its number.
    if let (item, problem) = renumbered {
      try renumber(item, problem)
      if state.renumberings > CoreLimits.renumberingsMax { pause = (problem.words, nil) }
    }
    if !hasMoved, pause == nil {
      pause = ("the relay does not say what became of what was sent", nil)
    }
    return pause
  }

  private static func grown(_ size: Int, to most: Int) -> Int {
    size > most / 2 ? max(1, most) : max(1, size * 2)
  }

  private func takeFacts(of answer: SyncAnswer, at now: Moment) throws(StoreError) {
    let hasNews = !answer.ended.isEmpty
    state.watchPauseMs =
      hasNews
      ? CoreLimits.watchPauseMsMin
      : min(CoreLimits.watchPauseMsMax, state.watchPauseMs * 2)
    state.checkedInAt = now.monotonicMs
    state.checkInCount += 1
    state.asksForEnds = false
    // Nothing is to be had by asking again at once where nothing was told.
    state.hasMoreEndings = answer.hasMore && hasNews
    let isOurs = try tellsOfOurs(answer.ended)
    state.strangeAnswers = isOurs || !state.hasMoreEndings ? 0 : state.strangeAnswers + 1
    state.features = answer.features
    if let time = answer.timeMs { state.wallCorrectionMs = time - now.wallMs }
    if let since = answer.since, since != state.since {
      state.since = since
      try file.set(.since, since)
    }
  }

  private func tellsOfOurs(_ ends: [SyncAnswer.Ended]) throws(StoreError) -> Bool {
    for key in ends.compactMap(\.key) where try file.item(key: key) != nil { return true }
    return false
  }

  private func takeVoid(_ void: VoidNumber, _ result: SyncAnswer.Result) throws(StoreError) {
    // A number that is refused will never be taken as void: another envelope has it.
    if case .rejected(let problem) = result, problem.mayPass { return }
    if case .void = result { try file.deleteDigest(void.lane, void.sequence) }
    try file.delete(void)
  }

  private func takeTaken(
    _ item: KeptItem, id: String?, state word: String?
  ) throws(StoreError) {
    // A repeat has a state.
    if word != nil { try forgetStatement(ofKnown: item) }
    let handed = try handOver(item, relayID: id ?? "")
    // A repeat of something that ended long ago: its ending was told before, or is forgotten.
    if let kind = EndingKind(state: word) {
      try endTold(handed, kind)
    } else if id == nil {
      try endTold(handed, .unknown, error: .forgottenByRelay)
    }
  }

  private func takeRejected(_ item: KeptItem, _ problem: RelayProblem) throws(StoreError) {
    switch problem.name {
    case "key-conflict": try takeKnown(item)
    default: try refuse(item, by: .relay, problem.error)
    }
  }

  /// The relay has the key of an item already: the item was handed over before the device was
  /// restored.
  ///
  /// It is asked what became of that.
  func takeKnown(_ item: KeptItem) throws(StoreError) {
    try declareVoid(item)
    var known = item
    known.sequence = nil
    try file.update(known)
    try handOver(known, relayID: "")
    try inquire(afterKnown: item)
  }

  /// The relay's own names of what it has taken.
  private static func ids(
    of items: [Int64], _ results: ArraySlice<SyncAnswer.Result>
  ) -> [Int64: String] {
    var ids: [Int64: String] = [:]
    for (item, result) in zip(items, results) {
      if case .taken(let id?, _) = result { ids[item] = id }
    }
    return ids
  }

  /// The relay has refused a post as a whole.
  ///
  /// One item of it may be to blame: it is found by halving, and does not take the others with it.
  private func refusedWhole(
    _ response: Response, _ items: [Int64], _ voids: [VoidNumber], at now: Moment
  ) throws(StoreError) {
    let problem = RelayProblem(response)
    // Only what the relay says of a post can be one of its items' fault.
    guard let problem, [400, 413, 422].contains(problem.status) else {
      return notReachable(.notTheRelay, at: now)
    }
    if problem.isAboutQuestion {
      // No item is to blame. What the relay does not know any more is not named again.
      if state.since != nil {
        state.since = nil
        try file.set(.since, nil)
      }
      return limited(problem.words, afterMs: nil, at: now)
    }
    state.sender.answered()
    // Void numbers go by themselves then, so that they are not what an item is blamed for.
    state.voidsGoAlone = !voids.isEmpty && !items.isEmpty
    if state.voidsGoAlone { return }
    if items.count > 1 {
      state.batchItems = max(1, items.count / 2)
      if response.status == 413 { state.batchBytes = max(1, state.batchBytes / 2) }
      return
    }
    guard let id = items.first, let item = try file.item(id) else {
      // The question itself was refused: it is not asked again soon.
      return limited(problem.words, afterMs: nil, at: now)
    }
    if response.status == 413, item.bodyBytes > 0, !isUploaded(item),
      state.features.contains("uploads")
    {
      return try uploadInstead(item)
    }
    try refuse(item, by: .relay, problem.error)
  }

  /// No post may be as large as one of this item alone: its body goes by itself, in parts.
  private func uploadInstead(_ item: KeptItem) throws(StoreError) {
    state.uploadsFrom = min(state.uploadsFrom ?? .max, item.bodyBytes)
    // What is covered of it may be something else then.
    if let sequence = item.sequence { try file.deleteDigest(item.lane, sequence) }
    var whole = item
    whole.state = .waiting
    whole.attempts = 0
    try file.update(whole)
  }
}

extension ConnectionFailure {
  /// Somebody else has answered, such as a network that wants one to sign in first.
  static let notTheRelay = ConnectionFailure(
    reason: "the answer is not the relay's", mayHaveArrived: true)
}

extension EndingKind {
  /// The ending of a state's name at the relay; nil for one that is none.
  init?(state: String?) {
    switch state {
    case "delivered": self = .delivered
    case "failed": self = .refused
    case "expired": self = .expired
    case "cancelled": self = .cancelled
    default: return nil
    }
  }
}

import RelayCore

extension OutboxCore {
  /// Ends an item, for the reason given.
  func end(
    _ item: KeptItem, _ kind: EndingKind, response: Response? = nil, error: RecordedError? = nil,
    attempts: Int? = nil
  ) throws(StoreError) {
    let ending = ending(of: item, kind, response: response, error: error, attempts: attempts)
    try forgetUnproven(item)
    // An upstream may have written nothing down of what it has refused.
    try endStatement(of: item, hasCome: kind == .delivered)
    try removeFile(of: item)
    try file.delete(item.id)
    try file.insert(ending)
    try countEnding()
    change(item.lane) { lane in
      lane.items -= 1
      lane.bytes -= item.bytes
      if !item.isHanded { lane.line -= 1 }
    }
    if item.state.needsAttention { state.attention -= 1 }
    state.preparations[item.id] = nil
    state.unreadable[item.id] = nil
    let outcome = ending.outcome
    tell(.ended(Item.ID(raw: item.id), outcome))
    noteInRuns(item.id, outcome)
  }

  /// How an item has ended, as it is stored.
  func ending(
    of item: KeptItem, _ kind: EndingKind, response: Response?, error: RecordedError?,
    attempts: Int?
  ) -> KeptEnding {
    KeptEnding(
      id: item.id, key: item.key, lane: item.lane, tag: item.tag, sequence: item.sequence,
      kind: kind, response: response, error: error ?? item.error,
      attempts: attempts ?? item.attempts, bytes: item.bytes,
      enqueuedWallMs: item.enqueuedAt.wallMs, userData: item.userData)
  }

  /// One more ending is stored: the oldest go that are too many.
  func countEnding() throws(StoreError) {
    state.endings += 1
    let surplus = state.endings - settings.limits.endings
    guard surplus > 0 else { return }
    try file.forgetEndings(surplus)
    state.endings -= surplus
  }

  /// The upstream or the relay has refused an item.
  func refuse(
    _ item: KeptItem, by refuser: Refuser, _ error: RecordedError, response: Response? = nil
  ) throws(StoreError) {
    // In an evidence lane nothing ends by the relay's word alone.
    let isUnsigned = refuser == .relay && settings.wantsEvidence(of: name(of: item.lane))
    guard isUnsigned || onRefusal(of: item) == .block else {
      try declareVoid(item)
      return try end(item, .refused, response: response, error: error)
    }
    try block(item, by: refuser, error)
  }

  /// An item waits for somebody, and its lane with it.
  func block(
    _ item: KeptItem, by refuser: Refuser, _ error: RecordedError
  ) throws(StoreError) {
    var blocked = item
    if refuser == .app, onRefusal(of: item) == .skip, let sequence = item.sequence, !item.isHanded {
      // Whoever mends it gives it another number. Those behind it are not held up by this one.
      try declareVoid(item)
      try file.deleteDigest(item.lane, sequence)
      blocked.sequence = nil
      blocked.upload = Self.asFormer(item.upload)
    }
    blocked.state = .blocked
    blocked.error = error
    blocked.refuser = refuser
    if !item.state.needsAttention { state.attention += 1 }
    try file.update(blocked)
    tell(.errorRecorded(Item.ID(raw: item.id), error))
    noteInRuns(item.id, .refused(nil, error))
  }

  /// The file of a body is not what was kept: nothing of that has gone, and its item waits for
  /// somebody.
  func loseBody(_ underway: Underway, _ fault: String) throws(StoreError) {
    switch underway {
    case .direct(let id), .upload(let id, _):
      state.uploadOffsets[id] = nil
      guard let item = try file.item(id), !item.isHanded else { return }
      // It may be that of the changed file.
      if let sequence = item.sequence { try file.deleteDigest(item.lane, sequence) }
      try block(item, by: .app, .bodyLost(fault))
    case .sync, .rejoin, .inquiry, .giveUp, .keys, .ledger: return
    }
  }

  /// The number of an item that will never come is not waited for.
  func declareVoid(_ item: KeptItem) throws(StoreError) {
    guard let sequence = item.sequence, !item.isHanded, settings.isRelay else { return }
    try file.insert(VoidNumber(lane: item.lane, sequence: sequence))
    try giveUpStatement(of: item)
  }

  /// The relay has an item on its disk.
  ///
  /// - Returns: The item as it is from now on.
  @discardableResult
  func handOver(_ item: KeptItem, relayID: String) throws(StoreError) -> KeptItem {
    guard !item.isHanded else { return item }
    var handed = item
    handed.state = .atRelay
    handed.isHanded = true
    handed.relayID = relayID
    handed.upload = nil
    try noteSigned(handed)
    if mayLetGo(of: handed) { try letGo(of: &handed) }
    try file.hand(handed)
    change(item.lane) { $0.line -= 1 }
    tell(.accepted(Item.ID(raw: item.id), relay: relayID))
    return handed
  }

  /// Lets go of the content of an item that somebody else has.
  func letGo(of item: inout KeptItem) throws(StoreError) {
    try removeFile(of: item)
    try file.deleteContent(of: item.id)
    // It cannot go again.
    if state.signing.lanes[item.lane] != nil { try file.deleteSignature(of: item.id) }
    let bytes = item.bodyBytes
    item.bodyKind = .none
    item.bytes = max(0, item.bytes - bytes)
    item.bodyBytes = 0
    change(item.lane) { $0.bytes -= bytes }
  }

  /// Has the file of an item's body removed, once the transaction is on the disk.
  func removeFile(of item: KeptItem) throws(StoreError) {
    // A start removes the files that no row names, so another's is not removed for this one's.
    guard item.bodyKind == .file, let content = try file.content(of: item.id), !content.isChanged
    else { return }
    want(.removeFile(String(decoding: content.body, as: UTF8.self)))
  }

  /// An item's request and its body.
  func content(of item: KeptItem) throws(StoreError) -> (request: KeptRequest, body: KeptBody)? {
    guard let kept = try file.content(of: item.id) else { return nil }
    guard !kept.isChanged else { throw .contentChanged(item.id) }
    let (request, stored) = (kept.request, kept.body)
    switch item.bodyKind {
    case .none, .inline:
      let bytes = item.bodyKind == .none ? [] : stored
      guard bytes.count == item.bodyBytes else {
        throw StoreError(
          kind: .corrupt, operation: "read", subject: "the body of item \(item.id)",
          detail: "it has another size than it was kept with.")
      }
      return (request, item.bodyKind == .none ? .none : .bytes(bytes))
    case .file:
      let path = "\(settings.bodies)/\(String(decoding: stored, as: UTF8.self))"
      guard Platform.size(of: path) == item.bodyBytes else {
        throw StoreError(
          kind: .corrupt, operation: "read", subject: path,
          detail: "it is gone, or has another size.")
      }
      return (request, .file(path: path, count: item.bodyBytes, kept.fileSums))
    }
  }
}

extension RecordedError {
  /// What an item was to bring cannot be read any more.
  static func bodyLost(_ error: StoreError) -> RecordedError { bodyLost(error.description) }

  /// The same, in words.
  static func bodyLost(_ words: String) -> RecordedError {
    RecordedError(id: "body-lost", message: words)
  }
}

extension StoreError {
  /// The row of an item's request and body is missing, though nobody else has the item.
  static func contentGone(_ item: Int64) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "read", subject: "the request of item \(item)",
      detail: "its row is gone.")
  }

  /// The row of an item's request and body is not as it was written.
  static func contentChanged(_ item: Int64) -> StoreError {
    StoreError(
      kind: .corrupt, operation: "read", subject: "the request of item \(item)",
      detail: "it, or its body, is not what was kept: its checksum differs.")
  }
}

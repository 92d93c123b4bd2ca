import RelayCore

// Ends that a relay tells. In an evidence lane they wait until it has signed them.
extension OutboxCore {
  /// Takes up the ends that are told and not signed.
  func takeUpProofs() throws(StoreError) {
    for lane in state.lanes.keys
    where try !file.unproven(of: lane, above: 0, countMax: 1).isEmpty {
      state.custody.proofs[lane] = Proof()
    }
  }

  /// Takes an end that a check-in tells.
  ///
  /// - Parameter ids: The relay's own names of items that came with the same post.
  func takeEnded(
    _ ended: SyncAnswer.Ended, _ ids: [Int64: String]
  ) throws(StoreError) {
    guard let key = ended.key, let item = try file.item(key: key),
      let kind = EndingKind(state: ended.state)
    else { return }
    let error = kind == .refused ? ended.error : nil
    if let told = ended.sequence, told != item.sequence { try forgetStatement(ofKnown: item) }
    // It had been posted, and the answer to the post was lost.
    try endTold(
      try handOver(item, relayID: ids[item.id] ?? ""), kind, number: ended.sequence,
      response: ended.response,
      error: error,
      attempts: ended.attempts)
  }

  /// Ends an item that has ended at the relay; in an evidence lane, once that is signed.
  ///
  /// - Parameter told: The number under which the relay has it, as far as it says so.
  func endTold(
    _ item: KeptItem, _ kind: EndingKind, number told: UInt64? = nil, response: Response? = nil,
    error: RecordedError? = nil, attempts: Int? = nil
  ) throws(StoreError) {
    guard settings.wantsEvidence(of: name(of: item.lane)) else {
      return try end(item, kind, response: response, error: error, attempts: attempts)
    }
    guard let item = try numbered(item, told), let sequence = item.sequence else {
      // Nothing can be signed of what has no number.
      return tell(.custodyBroken(Lane(name(of: item.lane)), .noNumber(key: item.key)))
    }
    // It may be told twice: by a check-in, with the upstream's answer, and by what the post got.
    if try file.ending(item.id)?.kind != kind || response != nil {
      try file.insert(
        ending(of: item, kind, response: response, error: error, attempts: attempts))
    }
    if try !file.isUnproven(item.lane, sequence) {
      try file.insertUnproven(item.lane, sequence)
      state.custody.proofs[item.lane, default: Proof()].isTold(Int64(clamping: sequence))
    }
    guard item.state.needsAttention else { return }
    var waiting = item
    waiting.state = .atRelay
    waiting.error = nil
    waiting.refuser = nil
    state.attention -= 1
    try file.update(waiting)
  }

  /// An item under the number that the relay tells: the ledger's row shows whether it is the right
  /// one.
  ///
  /// Its own is another one, or none, where the relay has its key from another folder, or under a
  /// former number.
  private func numbered(_ item: KeptItem, _ told: UInt64?) throws(StoreError) -> KeptItem? {
    guard let told, told != item.sequence else { return item.sequence == nil ? nil : item }
    guard try isToBeHad(told, in: item.lane) else { return nil }
    if let own = item.sequence {
      // Nothing will come under it from here.
      try file.insert(VoidNumber(lane: item.lane, sequence: own))
      try giveUpStatement(of: item)
      try file.deleteDigest(item.lane, own)
    }
    var numbered = item
    numbered.sequence = told
    try file.update(numbered)
    return numbered
  }

  /// Whether the end of an item is told, and not signed.
  func isUnproven(_ item: KeptItem) throws(StoreError) -> Bool {
    guard state.custody.proofs[item.lane] != nil, let sequence = item.sequence else { return false }
    return try file.isUnproven(item.lane, sequence)
  }

  /// Waits no more for a signature.
  ///
  /// - Returns: Whether it was waited for.
  @discardableResult
  func forgetUnproven(_ item: KeptItem) throws(StoreError) -> Bool {
    guard try isUnproven(item), let sequence = item.sequence else { return false }
    try file.deleteUnproven(item.lane, sequence)
    return true
  }

  /// Ends an item as the relay has told it.
  func endAsTold(_ item: KeptItem) throws(StoreError) {
    guard let told = try file.ending(item.id) else {
      return try end(item, .unknown, error: .forgottenByRelay)
    }
    try end(
      item, told.kind, response: told.response, error: told.error, attempts: told.attempts)
  }

  /// Ends what waits for a signature in lanes that keep no evidence any more.
  func releaseUnproven(at now: Moment) throws(StoreError) {
    for lane in state.custody.proofs.keys.sorted()
    where !settings.wantsEvidence(of: name(of: lane)) {
      let numbers = try file.unproven(of: lane, above: 0, countMax: CoreLimits.expiredPerStep)
      for number in numbers.map({ UInt64(clamping: $0) }) {
        if let item = try file.item(lane, sequence: number) { try endAsTold(item) }
        try file.deleteUnproven(lane, number)
      }
      if numbers.count < CoreLimits.expiredPerStep {
        state.custody.proofs[lane] = nil
      } else {
        noteDue(now.monotonicMs + 1)
      }
    }
  }
}

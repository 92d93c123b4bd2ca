import RelayCore

// Receipts of the relay: each is held to the relay's keys, to what it has signed before, and to
// what this device has sent.
extension OutboxCore {
  /// Takes up what the database holds of receipts.
  func takeUpReceipts() throws(StoreError) {
    for (lane, receipt) in try file.allReceipts() { state.custody.receipts[lane] = receipt }
    state.custody.keptThrough = try file.keptThrough()
    state.custody.ring = KeyRing(settings.pins)
    if let ring = try file.text(.ring) { state.custody.ring.takeUp(ring) }
  }

  /// Whether the relay makes receipts, as far as it has said so.
  var relayMakesReceipts: Bool { state.features.contains("receipts") }

  /// Takes the receipts of an answer.
  func takeReceipts(_ answer: SyncAnswer, at now: Moment) throws(StoreError) {
    guard settings.verifier != nil, !state.mustRejoin else { return }
    guard relayMakesReceipts else {
      // Its chains begin later, if at all.
      guard state.custody.hasDigests else { return }
      state.custody.hasDigests = false
      return try file.deleteAllDigests()
    }
    for lane in answer.lanes { try passSkipped(lane) }
    try take(answer.receipts, at: now)
  }

  /// Numbers that the relay takes no more are no part of its chain.
  ///
  /// One whose item it had accepted is: that it says otherwise now shows.
  private func passSkipped(_ lane: SyncAnswer.LaneAnswer) throws(StoreError) {
    guard let number = state.laneNumbers[lane.name], !lane.skipped.isEmpty else { return }
    for range in lane.skipped {
      var sequences: [UInt64] = []
      try file.eachDigest(
        of: number, above: Int64(clamping: range.lowerBound) - 1,
        through: Int64(clamping: range.upperBound)
      ) { sequence, _ in sequences.append(UInt64(sequence)) }
      for sequence in sequences {
        guard let item = try file.item(number, sequence: sequence), !item.isHanded else { continue }
        try file.deleteDigest(number, sequence)
      }
    }
  }

  /// Takes receipts that the relay has told.
  func take(_ told: [ToldReceipt], at now: Moment) throws(StoreError) {
    for told in told {
      guard let lane = state.laneNumbers[told.lane], settings.wantsReceipts(of: told.lane) else {
        continue
      }
      guard let receipt = told.receipt, receipt.client == settings.client else {
        try refuse(lane, .unreadable)
        continue
      }
      guard let known = state.custody.receipts[lane], known.isOpen, known.signed == receipt else {
        try hold(receipt, of: lane, at: now)
        continue
      }
      // It was verified when it came first.
      if receipted(lane) > 0 { state.custody.faults[lane] = nil }
    }
  }

  // MARK: - Keys

  /// Holds a receipt to its key; asks the relay for its keys, if this one is not known.
  private func hold(
    _ receipt: SignedReceipt, of lane: LaneNumber, at now: Moment
  ) throws(StoreError) {
    let id = receipt.text.keyID
    if let key = state.custody.ring.keys[id] { return try verify(receipt, of: lane, by: key) }
    if isAbsent(id, at: now) { return try refuse(lane, .unknownKey(KeyID(id))) }
    state.custody.waiting.append((lane, receipt))
    state.custody.wantsKeys = true
  }

  /// Whether the relay did not show a key when it was asked for it a while ago.
  func isAbsent(_ key: String, at now: Moment) -> Bool {
    state.custody.absent[key].map { now.monotonicMs < $0 } ?? false
  }

  /// Asks the relay for its keys.
  func askKeys() -> OutgoingExchange {
    state.custody.wantsKeys = false
    return begin(.keys, OutgoingRequest(method: "GET", path: KeySet.path))
  }

  /// Takes the relay's keys, and the receipts that waited for them.
  func takeKeys(_ response: Response, at now: Moment) throws(StoreError) {
    guard let verifier = settings.verifier else { return }
    let waiting = state.custody.waiting
    state.custody.forgetWaiting()
    if response.status == 200 {
      guard let keys = KeySet.keys(response.body, verifier) else {
        return notReachable(.notTheRelay, at: now)
      }
      let before = state.custody.ring
      state.custody.ring.follow(keys, verifier)
      if state.custody.ring != before { try file.set(.ring, state.custody.ring.json) }
    } else if RelayProblem(response) == nil {
      return notReachable(.notTheRelay, at: now)
    }
    state.sender.answered()
    let wanted = state.custody.wantedKeys.union(waiting.map(\.receipt.text.keyID))
    state.custody.wantedKeys = []
    for lane in state.custody.proofs.keys { state.custody.proofs[lane]?.hasKeys() }
    for id in wanted where state.custody.ring.keys[id] == nil {
      state.custody.absent[id] = now.monotonicMs + CoreLimits.keyPauseMs
    }
    for (lane, receipt) in waiting { try hold(receipt, of: lane, at: now) }
  }

  // MARK: - One receipt

  private func verify(
    _ receipt: SignedReceipt, of lane: LaneNumber, by key: [UInt8]
  ) throws(StoreError) {
    guard let verifier = settings.verifier, let hash = receiptHash else { return }
    let text = receipt.text
    guard verifier.verify(text.signature, of: text.message, by: key) else {
      return try refuse(lane, .badSignature)
    }
    guard receipt.isUnderRoot(hash) else { return try refuse(lane, .badPath) }
    let known = state.custody.receipts[lane].flatMap { $0.isOpen ? $0 : nil }
    // It is not known yet what the relay makes of them.
    let last = known?.signed.chain.last ?? 0
    if try file.hasVoid(of: lane, above: last, through: receipt.chain.last) { return }
    if let fault = fault(of: receipt, after: known, hash) {
      return try contradict(lane, fault, receipt)
    }
    guard let known else { return try begin(receipt, of: lane, hash) }
    // What was gone on from without being compared is kept: the next one is verified from there.
    let isCompared = known.checkedFrom <= known.signed.chain.last
    let isNew = receipt.chain.last > known.signed.chain.last
    let holds = try compare(
      receipt, from: known.signed.chain, known.checkedFrom,
      known.ordinal + (isNew && !isCompared ? 1 : 0), of: lane, hash)
    // One that was gone on from without being compared says nothing for its relay.
    if holds, receipted(lane) > 0 { state.custody.faults[lane] = nil }
  }

  /// What a receipt says that cannot be, after what the relay has signed before.
  private func fault(
    of receipt: SignedReceipt, after known: KeptReceipt?, _ hash: ReceiptHash
  ) -> CustodyFault? {
    let fork = state.custody.fork(with: receipt, hash).map { CustodyFault.forked(group: $0) }
    guard let known else { return fork }
    let (ours, theirs) = (known.signed.chain, receipt.chain)
    if ours.incarnation != theirs.incarnation || ours.begin != theirs.begin {
      return .begunAnew(receipted: UInt64(ours.last), begin: UInt64(theirs.begin))
    }
    if theirs.last < ours.last {
      return .relayBehind(receipted: UInt64(ours.last), relay: UInt64(theirs.last))
    }
    if let fork { return fork }
    return receipt.isOutOfOrder(with: known.signed) ? .forked(group: receipt.group) : nil
  }

  /// The first receipt of a lane, or the first one since the device lost sight of its chain.
  ///
  /// A chain of which the device does not know the beginning is gone on from: nothing that it
  /// covers so far is let go of. One that begins above what was sent does not speak of that: the
  /// relay may have begun to make receipts meanwhile.
  private func begin(
    _ receipt: SignedReceipt, of lane: LaneNumber, _ hash: ReceiptHash
  ) throws(StoreError) {
    let theirs = receipt.chain
    let ordinal = (state.custody.receipts[lane]?.ordinal ?? 0) + 1
    guard try file.hasDigest(lane, theirs.begin) else {
      return try adopt(receipt, of: lane)
    }
    let chain = LaneChain(
      of: LaneName(client: receipt.client, lane: receipt.lane), incarnation: theirs.incarnation,
      at: theirs.begin, hash)
    guard try compare(receipt, from: chain, theirs.begin, ordinal, of: lane, hash) else { return }
    state.custody.faults[lane] = nil
  }

  /// Goes along the chain by what was sent: it has to come to the receipt's link.
  ///
  /// - Returns: Whether it does; the receipt is kept then, and what it covers is let go of.
  private func compare(
    _ receipt: SignedReceipt, from chain: LaneChain, _ checkedFrom: Int64, _ ordinal: Int64,
    of lane: LaneNumber, _ hash: ReceiptHash
  ) throws(StoreError) -> Bool {
    var ours = chain
    try file.eachDigest(of: lane, above: chain.last, through: receipt.chain.last) {
      sequence, digest in
      ours.pass(through: sequence - 1)
      ours.take(digest, hash)
    }
    guard ours.last == receipt.chain.last, ours.link == receipt.chain.link else {
      try contradict(lane, .headDiffers(ours: ours.link, theirs: receipt.chain.link), receipt)
      return false
    }
    let kept = KeptReceipt(
      ordinal: ordinal, isOpen: true, checkedFrom: checkedFrom, signed: receipt)
    guard state.custody.receipts[lane] != kept else { return true }
    try store(kept, of: lane)
    try letGo(of: lane, above: chain.last)
    if receipt.chain.last > chain.last { tell(.receipt(kept.view)) }
    return true
  }

  /// Lets go of what the latest receipt of a lane covers.
  private func letGo(of lane: LaneNumber, above number: Int64) throws(StoreError) {
    guard settings(of: lane).custody == .receipt, let receipt = state.custody.receipts[lane]
    else { return }
    var from = number
    while true {
      let items = try file.handed(
        of: lane, above: from, through: receipt.signed.chain.last,
        countMax: CoreLimits.expiredPerStep)
      guard let last = items.last?.sequence else { return }
      from = Int64(clamping: last)
      for var item in items where mayLetGo(of: item) {
        try letGo(of: &item)
        try file.update(item)
      }
    }
  }

  // MARK: - What does not hold

  /// A receipt is not taken.
  private func refuse(_ lane: LaneNumber, _ fault: CustodyFault) throws(StoreError) {
    try keep(lane, through: (state.lanes[lane]?.next ?? 1) - 1)
    tell(lane, fault)
  }

  /// The relay has signed for what cannot be.
  ///
  /// Both receipts are kept, which proves it. The lane goes on from the later one, and nothing that
  /// was sent until now is let go of because of a receipt.
  private func contradict(
    _ lane: LaneNumber, _ fault: CustodyFault, _ receipt: SignedReceipt
  ) throws(StoreError) {
    try refuse(lane, fault)
    try adopt(receipt, of: lane)
  }

  /// Goes on from a receipt that was not compared with what was sent.
  private func adopt(_ receipt: SignedReceipt, of lane: LaneNumber) throws(StoreError) {
    try keep(lane, through: UInt64(receipt.chain.last))
    let ordinal = (state.custody.receipts[lane]?.ordinal ?? 0) + 1
    try store(
      KeptReceipt(
        ordinal: ordinal, isOpen: true, checkedFrom: receipt.chain.last + 1, signed: receipt),
      of: lane)
  }

  private func store(_ receipt: KeptReceipt, of lane: LaneNumber) throws(StoreError) {
    let before = Int64(clamping: lastSigned(of: lane))
    state.custody.receipts[lane] = receipt
    // The ledger has rows of what the chain has come to by now.
    if receipt.signed.chain.last > before { state.custody.proofs[lane]?.isTold(before + 1) }
    try file.store(receipt, of: lane)
    try file.deleteDigests(lane, through: receipt.signed.chain.last)
    try forgetReceipts(of: lane, through: receipt.ordinal - CoreLimits.receiptsPerLaneMax)
  }

  /// Forgets receipts that are too many, unless one is all that is left of an item's body.
  private func forgetReceipts(
    of lane: LaneNumber, through ordinal: Int64
  ) throws(StoreError) {
    guard ordinal > 0 else { return }
    for receipt in try file.receipts(of: lane, through: ordinal) {
      let isNeeded = try !file.handed(
        of: lane, above: receipt.checkedFrom - 1, through: receipt.signed.chain.last, countMax: 1
      ).isEmpty
      if !isNeeded { try file.forget(receipt, of: lane) }
    }
  }

  /// What was sent up to a number is kept until it is known how it has ended.
  private func keep(_ lane: LaneNumber, through number: UInt64) throws(StoreError) {
    guard number > state.custody.keptThrough[lane] ?? 0 else { return }
    state.custody.keptThrough[lane] = number
    try file.setKept(lane, through: number)
  }

  /// Tells once of what stands.
  private func tell(_ lane: LaneNumber, _ fault: CustodyFault) {
    guard state.custody.faults[lane] != fault else { return }
    state.custody.faults[lane] = fault
    tell(.custodyBroken(Lane(name(of: lane)), fault))
  }

  /// The device does not know any more what was sent in a lane.
  func endChain(of lane: LaneNumber) throws(StoreError) {
    try file.deleteDigests(lane, through: .max)
    guard var receipt = state.custody.receipts[lane], receipt.isOpen else { return }
    receipt.isOpen = false
    state.custody.receipts[lane] = receipt
    try file.store(receipt, of: lane)
  }

  /// The receipts of a lane, the latest one first.
  func receipts(of lane: String) throws(StoreError) -> [Receipt] {
    guard let number = state.laneNumbers[lane] else { return [] }
    return try file.allReceipts().filter { $0.lane == number }.map(\.receipt.view).reversed()
  }
}

extension KeptReceipt {
  /// What the app is shown.
  var view: Receipt {
    let chain = signed.chain
    return Receipt(
      lane: Lane(signed.lane), begin: UInt64(chain.begin), checkedFrom: UInt64(checkedFrom),
      last: UInt64(chain.last), link: chain.link, at: Instant(milliseconds: signed.atMs),
      json: String(decoding: signed.json, as: UTF8.self))
  }
}

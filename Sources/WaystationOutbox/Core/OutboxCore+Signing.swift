import RelayCore

// What the device signs of its items. What is said of a number is on the disk before the signer
// sees it, and no number is said anything else of: an item that is changed gets another one.
extension OutboxCore {
  /// Takes up what was signed.
  func takeUpSignatures() throws(StoreError) {
    state.signing.lanes = try file.signedLanes()
    for lane in state.lanes.keys {
      let isPromised = try file.newestSignature(of: lane) != nil
      if isPromised, !isSigned(lane) { state.signing.lanes[lane] = SignedLane() }
      // A row may only say that nobody knows what was signed, as after a salvage.
      if isPromised || state.signing.lanes[lane]?.sequence ?? 0 > 0 {
        state.signing.known.insert(lane)
      }
    }
    state.signing.hasVoids = try file.hasSignedVoids()
  }

  // MARK: - What goes signed

  /// Whether an item has to be signed before it goes.
  func lacksSignature(_ item: KeptItem) throws(StoreError) -> Bool {
    guard wantsSignature(item) else { return false }
    return try statement(of: item)?.jws == nil
  }

  /// A lane that was signed stays so where the signer is missing by mistake: its items wait.
  private func wantsSignature(_ item: KeptItem) -> Bool {
    let name = name(of: item.lane)
    if settings.signer == nil {
      return state.signing.known.contains(item.lane) && settings.mayBeSigned(name)
    }
    return settings.wantsSignature(of: name)
  }

  /// Whether anything of a lane was signed, or was to be.
  private func isSigned(_ lane: LaneNumber) -> Bool { state.signing.lanes[lane] != nil }

  /// What is signed of an item under its present number; nil if nothing is.
  func statement(of item: KeptItem) throws(StoreError) -> KeptSignature? {
    guard let sequence = item.sequence, isSigned(item.lane),
      let kept = try file.signature(of: item.id), kept.sequence == sequence
    else { return nil }
    return kept
  }

  /// The field that an item goes with; nil if it goes without one.
  ///
  /// What has once been signed goes so for good, whatever the settings say by then: the relay holds
  /// a repeat against what it has.
  func signatureField(of item: KeptItem) throws(StoreError) -> HeaderLine? {
    guard let jws = try statement(of: item)?.jws else { return nil }
    return HeaderLine(name: ItemStatement.field, value: jws)
  }

  /// Whether an item is what was signed.
  ///
  /// One that is not gets another number, and is signed anew: the relay may put a field in that it
  /// did not when the item was signed, since it is uploaded now.
  func goesAsSigned(
    _ item: KeptItem, _ request: KeptRequest, _ body: KeptBody, at now: Moment
  ) throws(StoreError) -> Bool {
    guard wantsSignature(item) else {
      try leaveUnsigned(item)
      return true
    }
    guard let sequence = item.sequence, let kept = try statement(of: item), kept.jws != nil else {
      return false
    }
    // Without a signer there may be nothing that makes digests either. It goes as it was signed.
    guard let hash = receiptHash else { return settings.signer == nil }
    guard let covered = covered(item, request, body, sequence) else { return false }
    if hash(covered.bytes) == kept.digest { return true }
    let isUploaded = isUploaded(item)
    try giveUpNumber(of: item)
    if isUploaded, let free = try file.item(item.id) { try file.update(uploaded(free)) }
    noteDue(now.monotonicMs + 1)
    return false
  }

  /// An item of a lane goes that is not signed any more.
  ///
  /// What is signed of the lane later says that it does not follow on what was signed before.
  private func leaveUnsigned(_ item: KeptItem) throws(StoreError) {
    guard isSigned(item.lane), settings(of: item.lane).order == .strict else {
      return
    }
    if let kept = try statement(of: item) {
      guard kept.jws == nil else { return }
      try file.deleteSignature(of: item.id)
    }
    guard state.signing.left.insert(item.lane).inserted else { return }
    try beginSigningAnew(in: item.lane)
  }

  /// The device does not know what else was signed of a lane, or came unsigned.
  func beginSigningAnew(in lane: LaneNumber) throws(StoreError) {
    guard isSigned(lane) || settings.wantsSignature(of: name(of: lane)) else {
      return
    }
    try changeSigned(lane) { $0.isAnew = true }
  }

  private func changeSigned(
    _ lane: LaneNumber, _ change: (inout SignedLane) -> Void
  ) throws(StoreError) {
    let before = state.signing.lanes[lane]
    var signed = before ?? SignedLane()
    change(&signed)
    guard signed != before else { return }
    state.signing.lanes[lane] = signed
    try file.write(signed, of: lane)
  }

  // MARK: - Asking the signer

  /// Has the signer sign items that are to go next.
  func askSigner(for items: [KeptItem], at now: Moment) throws(StoreError) {
    guard !items.isEmpty, !state.signing.isAsking else { return }
    guard state.signing.mayAsk(at: now.monotonicMs) else {
      return noteDue(state.signing.failure?.until ?? now.monotonicMs)
    }
    guard let signer = settings.signer else {
      let lane = name(of: items[0].lane)
      return noteFailure(
        "the lane \(lane) was signed, and there is no signer any more. "
          + "With LaneSettings.signed = false it goes on unsigned", at: now)
    }
    var tasks: [SigningTask] = []
    var standing: Set<LaneNumber> = []
    for item in items where !standing.contains(item.lane) {
      var known = try statement(of: item)
      if known == nil { known = try promise(item, at: now) }
      guard let kept = known else {
        standing.insert(item.lane)
        continue
      }
      let message = ItemStatement.message(
        of: kept.payload, keyID: signer.keyID.thumbprint, algorithm: signer.algorithm.rawValue)
      tasks.append(SigningTask(item: item.id, sequence: kept.sequence, message: message))
    }
    guard !tasks.isEmpty else { return }
    state.signing.isAsking = true
    want(.sign(tasks))
  }

  /// Gives an item its number, and stores what is signed of it; nil if its body cannot be read.
  private func promise(_ item: KeptItem, at now: Moment) throws(StoreError) -> KeptSignature? {
    guard let hash = receiptHash, let (request, body) = try contentToSign(of: item, at: now) else {
      return nil
    }
    var numbered = item
    let sequence = item.sequence ?? state.lanes[item.lane]?.next ?? 1
    numbered.sequence = sequence
    numbered.relayLane = relayLane(of: item)
    guard let covered = covered(numbered, request, body, sequence) else { return nil }
    if item.sequence == nil { change(item.lane) { $0.next = sequence + 1 } }
    try file.seal(numbered)
    if isUploaded(item), item.upload == nil { try file.update(uploaded(numbered)) }
    let statement = try nextStatement(of: numbered, sequence, digest: hash(covered.bytes))
    let payload = statement.payload
    let kept = KeptSignature(
      item: item.id, lane: item.lane, sequence: sequence, digest: statement.digest,
      payload: payload, hash: hash(payload), isAnew: statement.isAnew, jws: nil)
    try file.insert(kept)
    return kept
  }

  /// An item whose body goes by itself, whatever the relay says of its posts by then: that is what
  /// is signed.
  private func uploaded(_ item: KeptItem) -> KeptItem {
    var uploaded = item
    uploaded.upload = Self.noPlace
    return uploaded
  }

  private func contentToSign(
    of item: KeptItem, at now: Moment
  ) throws(StoreError) -> (KeptRequest, KeptBody)? {
    if isUploaded(item) { return try readableContent(of: item) }
    guard let (request, bytes) = try readable(item, at: now) else { return nil }
    return (request, bytes.isEmpty ? .none : .bytes(bytes))
  }

  /// What is said of an item: that it follows on the one before it, and what was given up since.
  private func nextStatement(
    of item: KeptItem, _ sequence: UInt64, digest: [UInt8]
  ) throws(StoreError) -> ItemStatement {
    let signed = state.signing.lanes[item.lane] ?? SignedLane()
    let last = try lastSigned(of: item.lane, signed)
    // It had its number before the lane was signed, and is taken up behind what was signed since.
    let isLate = last.sequence >= sequence
    let voids = isLate ? [] : try tellVoids(of: item.lane, in: sequence)
    if !isLate, !mayBeKnown(item) { try changeSigned(item.lane) { $0.isAnew = false } }
    return ItemStatement(
      client: settings.client, lane: relayLane(of: item), sequence: sequence, digest: digest,
      former: isLate || last.sequence == 0
        ? nil : ItemStatement.Former(sequence: last.sequence, hash: last.hash),
      voids: voids, isAnew: isLate || signed.isAnew)
  }

  /// The statement that the next one follows on.
  ///
  /// That of an item which the relay may know by its key is none until the item has left: nothing
  /// may ever come under its number.
  private func lastSigned(
    of lane: LaneNumber, _ signed: SignedLane
  ) throws(StoreError) -> (sequence: UInt64, hash: [UInt8]) {
    guard let newest = try file.newestSignature(of: lane), newest.sequence > signed.sequence,
      !signed.isAnew || newest.item >= state.signing.restoredBelow
    else { return (signed.sequence, signed.hash) }
    return (newest.sequence, newest.hash)
  }

  /// Whether the relay may have an item from the device's life after the backup from which it was
  /// restored.
  private func mayBeKnown(_ item: KeptItem) -> Bool { item.id < state.signing.restoredBelow }

  /// The numbers that were given up and of which no statement tells, which the next one does.
  private func tellVoids(
    of lane: LaneNumber, in sequence: UInt64
  ) throws(StoreError) -> [ClosedRange<UInt64>] {
    guard state.signing.hasVoids else { return [] }
    var ranges: [ClosedRange<UInt64>] = []
    for number in try file.untoldVoids(of: lane, countMax: CoreLimits.toldVoidsMax) {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else if ranges.count < CoreLimits.toldVoidRangesMax {
        ranges.append(number...number)
      } else {
        break
      }
    }
    if let last = ranges.last?.upperBound {
      try file.tellVoids(of: lane, through: last, in: sequence)
    }
    return ranges
  }

  /// Takes what the signer has signed, and why it did not sign the rest.
  func takeSignatures(
    _ signed: [(task: SigningTask, signature: [UInt8])], failure: String?, at now: Moment
  ) throws(StoreError) {
    state.signing.isAsking = false
    var failure = failure
    for (task, signature) in signed {
      // A JWS has 64 bytes of either algorithm.
      guard signature.count == CoreLimits.signatureBytes else {
        failure = "the signer made \(signature.count) bytes: \(CoreLimits.signatureBytes) are right"
        break
      }
      // Another number may have been given to the item meanwhile, or it may be over.
      guard let kept = try file.signature(of: task.item), kept.sequence == task.sequence,
        kept.jws == nil
      else { continue }
      try file.set(jws: ItemStatement.text(task.message, signature), of: task.item)
    }
    // A post may be put together ahead by now.
    state.lookedBehind = 0
    guard let failure else { return state.signing.signed() }
    noteFailure(failure, at: now)
  }

  private func noteFailure(_ failure: String, at now: Moment) {
    let until = state.signing.failed(failure, at: now.monotonicMs, random: random())
    noteDue(until)
    tell(.signerFailing(SignerFailure(reason: failure, retryAt: wall(until, now))))
  }

  /// Why nothing is signed just now; nil if nothing is wrong.
  func signerFailure(at now: Moment) -> SignerFailure? {
    state.signing.failure.map { SignerFailure(reason: $0.reason, retryAt: wall($0.until, now)) }
  }

  private func wall(_ monotonicMs: Int64, _ now: Moment) -> Instant {
    Instant(milliseconds: now.wallMs).adding(milliseconds: max(0, monotonicMs - now.monotonicMs))
  }

  /// Whether an item does not go since the signer has failed.
  func waitsForSigner(_ item: KeptItem, at now: Moment) throws(StoreError) -> Bool {
    guard !state.signing.mayAsk(at: now.monotonicMs) else { return false }
    return try lacksSignature(item)
  }

  // MARK: - What becomes of it

  /// A signed item has left the device for good.
  func noteSigned(_ item: KeptItem) throws(StoreError) {
    guard let kept = try statement(of: item), kept.jws != nil else { return }
    try changeSigned(item.lane) { signed in
      guard kept.sequence > signed.sequence else { return }
      (signed.sequence, signed.hash) = (kept.sequence, kept.hash)
    }
  }

  /// The relay has an item by its key already.
  ///
  /// A device that was restored does not know under which number: perhaps nothing comes under the
  /// one that it has signed now. Of other items it knows, whatever the relay says.
  func forgetStatement(ofKnown item: KeptItem) throws(StoreError) {
    guard mayBeKnown(item), !item.isHanded, let kept = try statement(of: item) else { return }
    try file.retellVoids(of: item.lane, toldIn: kept.sequence)
    try file.deleteSignature(of: item.id)
    try beginSigningAnew(in: item.lane)
  }

  /// Nothing comes under an item's number any more: the next statement tells that.
  func giveUpStatement(of item: KeptItem) throws(StoreError) {
    guard let sequence = item.sequence,
      isSigned(item.lane) || wantsSignature(item)
    else { return }
    state.signing.hasVoids = true
    try file.insertSignedVoid(item.lane, sequence)
    guard let kept = try statement(of: item) else { return }
    try file.retellVoids(of: item.lane, toldIn: sequence)
    if kept.isAnew { try beginSigningAnew(in: item.lane) }
    if !item.isHanded { try file.deleteSignature(of: item.id) }
  }

  /// An item is over.
  ///
  /// - Parameter hasCome: Whether the upstream has taken its request.
  func endStatement(of item: KeptItem, hasCome: Bool) throws(StoreError) {
    guard isSigned(item.lane) else { return }
    try file.deleteSignature(of: item.id)
    guard state.signing.hasVoids, let sequence = item.sequence else { return }
    if hasCome {
      try file.forgetVoids(of: item.lane, toldIn: sequence)
    } else {
      try file.retellVoids(of: item.lane, toldIn: sequence)
    }
  }

  /// Takes the number of an item that was signed, so that it may be changed, and those of all that
  /// stand behind it.
  ///
  /// - Returns: The item without it; nil if something behind it may have left: it would come first.
  func freed(_ item: KeptItem) throws(StoreError) -> KeptItem? {
    guard let sequence = item.sequence, try statement(of: item) != nil else { return item }
    guard state.signing.lanes[item.lane]?.sequence ?? 0 < sequence,
      try !file.hasSealed(of: item.lane, above: sequence)
    else { return nil }
    try giveUpNumber(of: item)
    guard var free = try file.item(item.id) else { return nil }
    // What the relay has of its upload is given up first.
    free.upload = item.upload
    try file.update(free)
    return free
  }

  /// Whether the relay's copy of an item can be changed: one that was signed cannot.
  func mayChangeAtRelay(_ item: KeptItem, _ edit: RequestEdit?) -> Bool {
    edit?.request == nil || item.sequence == nil || !wantsSignature(item)
  }
}

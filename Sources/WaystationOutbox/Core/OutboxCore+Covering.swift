import RelayCore

// What a receipt covers of the items that are sent.
extension OutboxCore {
  /// The hash function of receipts.
  var receiptHash: ReceiptHash? {
    guard let verifier = settings.verifier else { return nil }
    return { verifier.digest($0) }
  }

  /// Has the relay make receipts, if any lane wants them.
  func preference() -> [HeaderLine] {
    let wants = state.lanes.values.contains { settings.wantsReceipts(of: $0.name) }
    return wants ? [HeaderLine(name: "Prefer", value: "receipt")] : []
  }

  /// Has the relay make a receipt, if a lane wants it.
  func preference(for lane: LaneNumber) -> [HeaderLine] {
    settings.wantsReceipts(of: name(of: lane)) ? [HeaderLine(name: "Prefer", value: "receipt")] : []
  }

  /// Keeps the digest of what is sent under an item's number.
  ///
  /// What was sent before goes exactly so again, and has its digest: an edit takes that away.
  func cover(
    _ item: KeptItem, _ request: KeptRequest, _ body: KeptBody
  ) throws(StoreError) {
    guard let sequence = item.sequence else { return }
    guard let hash = receiptHash, settings.wantsReceipts(of: name(of: item.lane)) else {
      // A chain of which a number is missing cannot be followed later.
      if state.custody.left.insert(item.lane).inserted { try endChain(of: item.lane) }
      return
    }
    guard sequence > lastSigned(of: item.lane) else { return }
    if try file.hasDigest(item.lane, Int64(clamping: sequence)) { return }
    guard let covered = covered(item, request, body, sequence) else { return }
    try file.insert(digest: hash(covered.bytes), item.lane, sequence)
    state.custody.hasDigests = true
  }

  /// What is covered of an item; nil if its body cannot be read any more.
  func covered(
    _ item: KeptItem, _ request: KeptRequest, _ body: KeptBody, _ sequence: UInt64
  ) -> CoveredItem? {
    guard let verifier = settings.verifier else { return nil }
    var fields = request.headers.filter { $0.isNamed("content-type") }
    let digest: [UInt8]
    let count: Int64
    switch body {
    case .none: (digest, count) = (verifier.digest([]), 0)
    case .bytes(let bytes):
      (digest, count) = (verifier.digest(bytes), Int64(bytes.count))
      // The relay puts a type in where there was none (docs/protocol.md, "Posting one envelope").
      if fields.isEmpty, !isUploaded(item), SyncRequest.isText(bytes) { fields = [.text] }
    case .file(let path, let size, _):
      guard let whole = verifier.digest(ofFile: path) else { return nil }
      (digest, count) = (whole, size)
    }
    // The field `Idempotency-Key` is the key, and is covered by that.
    let headers = fields.map { field in
      let value = FieldSyntax.trimmingWhitespace(Array(field.value.utf8)[...])
      return (name: "content-type", value: Array(value))
    }
    return CoveredItem(
      client: settings.client, lane: relayLane(of: item), number: Int64(clamping: sequence),
      key: item.key, upstream: request.upstream ?? "default", method: request.method,
      path: Array(request.path.utf8),
      headers: headers, bodyByteCount: count, bodyDigest: digest)
  }

  // MARK: - What receipts allow

  /// The last number of a lane that the relay has signed for; 0 for none.
  func lastSigned(of lane: LaneNumber) -> UInt64 {
    guard let receipt = state.custody.receipts[lane], receipt.isOpen else { return 0 }
    return UInt64(receipt.signed.chain.last)
  }

  /// The last number of a lane that a receipt speaks of, and that was compared; 0 for none.
  func receipted(_ lane: LaneNumber) -> UInt64 {
    guard let receipt = state.custody.receipts[lane],
      receipt.checkedFrom <= receipt.signed.chain.last
    else { return 0 }
    return UInt64(receipt.signed.chain.last)
  }

  /// Whether the device's own copy of an item goes.
  ///
  /// - Parameter item: One that the relay has.
  func mayLetGo(of item: KeptItem) -> Bool {
    if settings.wantsEvidence(of: name(of: item.lane)) { return false }
    switch settings(of: item.lane).custody {
    case .accepted: return true
    case .delivered: return false
    case .receipt:
      guard let sequence = item.sequence, let receipt = state.custody.receipts[item.lane],
        receipt.isOpen
      else { return false }
      let first = max(UInt64(receipt.checkedFrom), lowestLetGo(of: item.lane))
      return sequence >= first && sequence <= UInt64(receipt.signed.chain.last)
    }
  }

  /// The first number of a lane whose body need not be kept until it is known how it has ended.
  func lowestLetGo(of lane: LaneNumber) -> UInt64 { (state.custody.keptThrough[lane] ?? 0) + 1 }
}

extension HeaderLine {
  /// The field that the relay puts in for a text without one.
  fileprivate static let text = HeaderLine(
    name: "Content-Type", value: "text/plain; charset=utf-8")
}

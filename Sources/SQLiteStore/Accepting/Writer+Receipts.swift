import RelayCore
import SQLite

// The chains of lanes that number their envelopes, and the receipts of each transaction.
extension Writer {
  /// How receipts are made; nil if none are.
  ///
  /// A transaction goes by the rules that it began with.
  func takeReceiptRules() {
    receiptRules = state.damage.leftOut.contains(.receipts) ? nil : shared.receiptRules
  }

  /// Adds a number to its lane's chain: what came under it stands in line from now on.
  ///
  /// - Parameter came: What came; nil if what a receipt covers of it is not known.
  func link(
    _ number: Int64, _ came: LinkedEnvelope?, in lane: LaneNumber, _ name: LaneName? = nil
  ) throws(StoreError) {
    guard let rules = receiptRules else { return }
    try openChain(of: lane, name, rules)
    state.chains.take(number, came, in: lane, rules.hash) {
      random.bytes(LaneChain.incarnationBytes)
    }
  }

  /// Passes numbers by in their lane's chain that nobody waits for.
  func pass(
    _ numbers: SequenceRange, in lane: LaneNumber, _ name: LaneName? = nil
  ) throws(StoreError) {
    guard let rules = receiptRules else { return }
    try openChain(of: lane, name, rules)
    state.chains.pass(numbers, in: lane)
  }

  /// Adds an envelope that was parked, and stands in line from now on.
  ///
  /// - Parameter serial: The number that it has now; nil if it is not on record any more, or cannot
  ///   be read: then the chain ends.
  func link(parked serial: Serial?, _ number: Int64, in lane: LaneNumber) throws(StoreError) {
    guard receiptRules != nil else { return }
    var came: LinkedEnvelope?
    if let serial {
      let digest = try receipts.coveredDigest.first(serial) { $0.isNull(0) ? nil : $0.bytes(0) }
      came = digest.flatMap(\.self).map { LinkedEnvelope(serial: serial, digest: $0) }
    }
    try link(number, came, in: lane)
  }

  private func openChain(
    of lane: LaneNumber, _ name: LaneName?, _ rules: ReceiptRules
  ) throws(StoreError) {
    guard !state.chains.isOpen(lane) else { return }
    // Not `??`, whose right side cannot throw a StoreError.
    let known = if let name { name } else { try receipts.name(of: lane) }
    if let chain = chains.value(for: lane) {
      return state.chains.open(lane, known, chain, rules)
    }
    let bytes = try receipts.findChain.first(lane) { $0.isNull(0) ? nil : $0.bytes(0) }
    state.chains.open(lane, known, bytes.flatMap(\.self).flatMap(StoredChain.init), rules)
  }

  /// Makes the group of the transaction.
  ///
  /// - Returns: The chains of lanes from now on; nil for one that has ended.
  func makeReceipts() throws(StoreError) -> [LaneNumber: StoredChain?] {
    guard !state.chains.isEmpty, let rules = receiptRules else { return [:] }
    let time = clock()
    let closed = state.chains.close(
      rules, of: receipts.store, after: state.receiptMark, at: time)
    var chains: [LaneNumber: StoredChain?] = [:]
    try unlessLeftOut(.receipts) { () throws(StoreError) in
      if let group = closed.group {
        try receipts.insert(group, at: time)
        state.receiptMark = group.mark
        state.receiptTally.note(closed)
      }
      for entry in closed.entries { try laneLedger.insert(entry, at: time) }
      for (lane, chain) in closed.chains {
        chains[lane] = .some(chain)
        if let chain {
          self.chains.insert(chain, for: lane)
        } else {
          self.chains.removeValue(for: lane)
        }
      }
    }
    return chains
  }

  /// Forgets receipts that are kept no longer; see ``ReceiptStore``.
  func forgetReceipts(_ retention: ReceiptRetention, countMax: Int) throws(StoreError) -> Bool {
    let groups = try receipts.forget(
      retention, after: state.receiptMark?.number ?? 0, countMax: countMax)
    if let through = groups.through { state.receiptTally.forgot(through: through) }
    let areEntriesDone = try laneLedger.forget(retention, countMax: countMax)
    return groups.isDone && areEntriesDone
  }
}

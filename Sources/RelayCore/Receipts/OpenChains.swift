/// The chains of lanes that a transaction goes on with, until it ends.
package struct OpenChains: Sendable {
  fileprivate struct Lane: Sendable {
    var name: LaneName
    /// As it was stored; nil if it was not.
    var stored: StoredChain?
    /// nil if the next number begins a new one.
    var chain: LaneChain?
    /// The first number that this transaction has added; nil if it added none.
    var first: Int64?
  }

  private var lanes: [LaneNumber: Lane] = [:]

  /// Begins with none.
  package init() {}

  /// Whether there is nothing to be written.
  package var isEmpty: Bool { lanes.isEmpty }

  /// Whether a lane's chain has been opened.
  package func isOpen(_ lane: LaneNumber) -> Bool { lanes[lane] != nil }

  /// Opens a lane's chain, as it was stored; nil if it has none.
  package mutating func open(_ lane: LaneNumber, _ name: LaneName, _ stored: StoredChain?) {
    lanes[lane] = Lane(name: name, stored: stored, chain: stored?.chain)
  }

  /// Adds a number under which something came.
  ///
  /// A chain that does not lead up to the number cannot go on: a new one begins with it. So it is
  /// once receipts are made that were not made before.
  ///
  /// - Parameters:
  ///   - digest: What came; nil if that is not known, as of an envelope that was accepted before
  ///     receipts were made. The chain ends then.
  ///   - incarnation: Random bytes, should a chain begin.
  /// - Precondition: The lane's chain is open.
  package mutating func take(
    _ number: Int64, _ digest: [UInt8]?, in lane: LaneNumber, _ hash: ReceiptHash,
    incarnation: () -> [UInt8]
  ) {
    update(lane) { open in
      if let chain = open.chain, chain.through + 1 != number { open.end() }
      guard let digest else { return open.end() }
      var chain =
        open.chain
        ?? LaneChain(of: open.name, incarnation: incarnation(), at: number, hash)
      chain.take(digest, hash)
      open.chain = chain
      open.first = open.first ?? number
    }
  }

  /// Passes numbers by under which nothing came, and which nobody waits for.
  ///
  /// - Precondition: The lane's chain is open.
  package mutating func pass(_ numbers: SequenceRange, in lane: LaneNumber) {
    update(lane) { open in
      guard open.chain?.through == numbers.first - 1 else { return open.end() }
      open.chain?.pass(through: numbers.last)
    }
  }

  private mutating func update(_ lane: LaneNumber, _ body: (inout Lane) -> Void) {
    guard let place = lanes.index(forKey: lane) else {
      preconditionFailure("the lane's chain is open")
    }
    body(&lanes.values[place])
  }

  /// Ends the transaction's part.
  ///
  /// - Parameters:
  ///   - store: The store's identity.
  ///   - former: The group before.
  /// - Returns: The group, nil if no head has moved; and what each lane's chain is from now on.
  package mutating func close(
    _ rules: ReceiptRules, of store: [UInt8], after former: ReceiptMark?, at time: WallTime
  ) -> (group: ReceiptGroup?, chains: [(lane: LaneNumber, chain: StoredChain?)]) {
    let open = lanes.sorted { $0.key < $1.key }
    lanes.removeAll(keepingCapacity: true)
    let heads = open.compactMap { $1.head }
    let group =
      heads.isEmpty
      ? nil : ReceiptGroup(rules, of: store, after: former, heads: heads, at: time)
    var leaf = 0
    let chains = open.map { number, lane -> (lane: LaneNumber, chain: StoredChain?) in
      guard let group, let head = lane.head else { return (number, lane.unmoved) }
      defer { leaf += 1 }
      let stored = StoredChain(
        chain: head.chain, first: head.first, group: group.number, leaf: leaf)
      return (number, stored)
    }
    return (group, chains)
  }
}

extension OpenChains.Lane {
  fileprivate mutating func end() { (chain, first) = (nil, nil) }

  /// The chain where no head has moved.
  fileprivate var unmoved: StoredChain? {
    guard var stored, let chain else { return nil }
    stored.chain = chain
    return stored
  }

  fileprivate var head: LaneHead? {
    guard let chain, let first else { return nil }
    return LaneHead(lane: name, first: first, chain: chain)
  }
}

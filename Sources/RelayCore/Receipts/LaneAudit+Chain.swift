extension LaneAudit {
  /// A number of a chain, and its link, as a receipt has them that was verified.
  package struct Checkpoint: Sendable, Equatable {
    /// The number.
    package let number: Int64
    let link: LaneEvidence.Digest

    /// Puts one together.
    ///
    /// - Precondition: A link has 32 bytes.
    package init(number: Int64, link: [UInt8]) {
      self.number = number
      self.link = LaneEvidence.Digest(link)
    }
  }

  /// What receipts say of one chain of a lane: where its audit begins, and what it has to lead to.
  package struct Chain: Sendable {
    /// The random bytes that the chain began with.
    package let incarnation: [UInt8]
    /// What the audit goes on from: the chain's start, or an older receipt.
    let base: Checkpoint
    /// The receipts behind that, in order, each number once; never empty.
    let checkpoints: [Checkpoint]
    /// The first number of which receipts have different links.
    let contradiction: Int64?

    /// Whether receipts have different links of one number, or different begins.
    package var isContradicted: Bool { contradiction != nil }

    /// The numbers that are audited.
    package var numbers: SequenceRange {
      SequenceRange(first: base.number + 1, last: checkpoints[checkpoints.count - 1].number)
    }
  }

  /// There is no receipt of the number before the one that an audit is to begin with.
  package struct NoReceiptBefore: Error, Equatable {
    /// The number that it is to begin with.
    package let number: Int64

    /// Names the number.
    package init(number: Int64) { self.number = number }
  }

  /// Puts the heads of verified receipts in order: one chain for each incarnation.
  ///
  /// - Parameters:
  ///   - heads: Those of one lane, at least one; each is not below its chain's begin.
  ///   - first: The number to begin with: a chain's begin, or one behind the last number of a
  ///     receipt. Chains that end before it are left out. nil for the begin of each chain.
  package static func chains(
    of heads: [LaneHead], from first: Int64?, _ hash: ReceiptHash
  ) throws(NoReceiptBefore) -> [Chain] {
    var chains: [Chain] = []
    for heads in Dictionary(grouping: heads, by: \.chain.incarnation).values {
      let sorted = heads.sorted { $0.chain.last < $1.chain.last }
      let newest = sorted[sorted.count - 1]
      guard first ?? 0 <= newest.chain.last else { continue }
      chains.append(try chain(of: sorted, newest, from: first, hash))
    }
    guard !chains.isEmpty else { throw NoReceiptBefore(number: first ?? 1) }
    return chains.sorted {
      ($0.numbers.first, $0.numbers.last) < ($1.numbers.first, $1.numbers.last)
    }
  }

  private static func chain(
    of sorted: [LaneHead], _ newest: LaneHead, from first: Int64?, _ hash: ReceiptHash
  ) throws(NoReceiptBefore) -> Chain {
    let (incarnation, begin) = (newest.chain.incarnation, newest.chain.begin)
    let start = LaneChain(of: newest.lane, incarnation: incarnation, at: begin, hash)
    var base = Checkpoint(number: start.last, link: start.link)
    var checkpoints: [Checkpoint] = []
    var contradiction = sorted.lazy.map(\.chain.begin).first { $0 != begin }
    for head in sorted {
      let checkpoint = Checkpoint(number: head.chain.last, link: head.chain.link)
      guard let former = checkpoints.last, former.number == checkpoint.number else {
        checkpoints.append(checkpoint)
        continue
      }
      if former != checkpoint { contradiction = contradiction ?? checkpoint.number }
    }
    if let first, first > begin {
      guard let place = checkpoints.firstIndex(where: { $0.number == first - 1 }) else {
        throw NoReceiptBefore(number: first)
      }
      base = checkpoints[place]
      checkpoints.removeSubrange(...place)
    }
    return Chain(
      incarnation: incarnation, base: base, checkpoints: checkpoints, contradiction: contradiction)
  }
}

extension LaneAudit {
  /// The numbers between two receipts: behind the first one, up to the second.
  struct Segment {
    private let former: Checkpoint
    private let checkpoint: Checkpoint
    private let rows: ArraySlice<LaneEvidence.Row>
    private let arrivals: ArraySlice<LaneEvidence.Arrival>
    private let hash: ReceiptHash

    init(_ audit: LaneAudit, after former: Checkpoint, through checkpoint: Checkpoint) {
      let numbers = SequenceRange(first: former.number + 1, last: checkpoint.number)
      self.former = former
      self.checkpoint = checkpoint
      rows = audit.rows(in: numbers)
      arrivals = audit.arrivals(in: numbers)
      hash = audit.hash
    }

    /// The first number that does not hold, but for the order in which they came.
    func fault() -> Fault? {
      let (areProven, breach) = walk()
      let difference = difference(areProven: areProven)
      guard let breach = breach.map({ fault(at: $0, areProven: areProven) }) else {
        return difference
      }
      guard let difference else { return breach }
      // What the upstream got tells which of several numbers it is.
      let isCertain = areProven || breach.reason == .addedToLedger
      let limit = isCertain ? breach.numbers.first - 1 : breach.numbers.last
      return difference.numbers.first <= limit ? difference : breach
    }

    // MARK: - The chain

    /// Where the rows part from the chain.
    private enum Breach {
      /// At the row of this place.
      case row(Int)
      /// Nowhere before the receipt.
      case receipt
    }

    /// Goes along the links.
    ///
    /// - Returns: Whether the rows' digests lead to the receipt, so that they are what it covers;
    ///   and where the links do not follow.
    private func walk() -> (areProven: Bool, breach: Breach?) {
      var link = former.link
      var breach: Breach?
      for index in rows.indices {
        link = self.link(of: rows[index], after: link)
        if breach == nil, link != rows[index].link { breach = .row(index) }
      }
      let areProven = link == checkpoint.link && rows.last?.number == checkpoint.number
      return (areProven, breach ?? (areProven ? nil : .receipt))
    }

    private func link(
      of row: LaneEvidence.Row, after former: LaneEvidence.Digest
    ) -> LaneEvidence.Digest {
      LaneEvidence.Digest(
        LaneChain.link(after: former.bytes, row.number, row.digest.bytes, hash))
    }

    private func fault(at breach: Breach, areProven: Bool) -> Fault {
      switch breach {
      case .row(let index):
        areProven ? Fault(rows[index].number, .linkDoesNotFollow) : fault(atRow: index)
      case .receipt where rows.last?.number != checkpoint.number:
        // The last number of a receipt has a link, and so it had a row.
        Fault(checkpoint.number, .leftOutOfLedger)
      case .receipt:
        Fault(
          SequenceRange(first: former.number + 1, last: checkpoint.number),
          .ledgerDoesNotLeadToReceipt)
      }
    }

    /// Why a row's link does not follow from the one before: that of all rows above it does.
    private func fault(atRow index: Int) -> Fault {
      let row = rows[index]
      // Rows were put in if it follows from one further up.
      for place in rows.indices.prefix(upTo: index).reversed()
      where link(of: row, after: linkBefore(place)) == row.link {
        let added = SequenceRange(first: rows[place].number, last: rows[index - 1].number)
        return Fault(added, .addedToLedger)
      }
      let before = index == rows.startIndex ? former.number : rows[index - 1].number
      guard before + 1 < row.number else { return Fault(row.number, .linkDoesNotFollow) }
      // Either something is missing in the gap, or the row itself was changed.
      let isAtUpstream = arrivals.contains { $0.number == row.number && $0.digest == row.digest }
      return isAtUpstream
        ? Fault(SequenceRange(first: before + 1, last: row.number - 1), .leftOutOfLedger)
        : Fault(SequenceRange(first: before + 1, last: row.number), .linkDoesNotFollow)
    }

    private func linkBefore(_ place: Int) -> LaneEvidence.Digest {
      place == rows.startIndex ? former.link : rows[place - 1].link
    }

    // MARK: - The upstream

    /// The first number of which the upstream has something else than the ledger.
    ///
    /// - Parameter areProven: Whether the rows are what the receipt covers. If so, it is the
    ///   upstream that got something else.
    private func difference(areProven: Bool) -> Fault? {
      let (unknown, another): (Fault.Reason, Fault.Reason) =
        areProven
        ? (.notInLedger, .anotherRequestAtUpstream) : (.leftOutOfLedger, .changedInLedger)
      var rest = arrivals
      for row in rows {
        if let arrival = rest.first, arrival.number < row.number {
          return Fault(arrival.number, unknown)
        }
        let own = rest.prefix { $0.number == row.number }
        rest = rest.dropFirst(own.count)
        if own.contains(where: { $0.digest != row.digest }) { return Fault(row.number, another) }
        if own.isEmpty, row.isDelivered { return Fault(row.number, .notAtUpstream) }
      }
      return rest.first.map { Fault($0.number, unknown) }
    }
  }
}

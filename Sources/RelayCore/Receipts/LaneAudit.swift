/// Holds what a relay says of a lane against its receipts, and against what the upstream got.
///
/// A receipt's link binds each number's digest, so rows that lead to it are what the sender was
/// promised. The upstream's own record then shows whether it got that, and nothing else, in order.
/// Whatever was signed was verified before it comes here.
package struct LaneAudit: Sendable {
  /// What came of an audit.
  package enum Verdict: Sendable, Equatable {
    case holds(Counts)
    case fails(Fault)
  }

  /// What became of the numbers that were looked at.
  package struct Counts: Sendable, Equatable {
    /// The upstream got them, as the ledger says.
    package var delivered: Int64 = 0
    /// Not delivered, says the ledger; the upstream may have got them all the same.
    package var failed: Int64 = 0
    /// Past their deadline.
    package var expired: Int64 = 0
    /// Taken back.
    package var cancelled: Int64 = 0
    /// Not ended yet.
    package var waiting: Int64 = 0
    /// Nothing was ever taken under them: the receipts' links pass them by.
    package var givenUp: Int64 = 0
    /// Requests that the upstream got once more.
    package var repeated: Int64 = 0

    /// Counts nothing yet.
    package init() {}

    /// Adds those of another chain of the lane.
    package mutating func add(_ other: Counts) {
      delivered += other.delivered
      failed += other.failed
      expired += other.expired
      cancelled += other.cancelled
      waiting += other.waiting
      givenUp += other.givenUp
      repeated += other.repeated
    }
  }

  /// The first number that does not hold, and why.
  package struct Fault: Sendable, Equatable {
    /// Why a number does not hold; the words are those that programs are told.
    package enum Reason: String, Sendable, CaseIterable {
      /// Two receipts have different links of one number.
      case receiptsContradict = "receipts-contradict"
      /// Receipts of one store cannot all be true, so that the relay has signed two histories.
      case twoHistories = "two-histories"
      /// No page of the ledger speaks for it.
      case noPage = "no-page"
      /// Two pages say different things of it that cannot both be true.
      case pagesContradict = "pages-contradict"
      /// The ledger has no row of the whole chain, and goes on behind it.
      case chainNotInLedger = "chain-not-in-ledger"
      /// The ledger leads to no receipt, and has another item than the upstream got.
      case changedInLedger = "changed-in-ledger"
      /// The ledger has no row of it, though the receipts or the upstream show that there was one.
      case leftOutOfLedger = "left-out-of-ledger"
      /// The ledger has a row that the links pass by.
      case addedToLedger = "added-to-ledger"
      /// Its link is not that of its digest and of the link before.
      case linkDoesNotFollow = "link-does-not-follow"
      /// The links follow, and lead to another one than the receipt has.
      case ledgerDoesNotLeadToReceipt = "ledger-does-not-lead-to-receipt"
      /// The ledger calls it delivered, and the upstream did not get it.
      case notAtUpstream = "not-at-upstream"
      /// The upstream got another request under it than the receipt covers.
      case anotherRequestAtUpstream = "another-request-at-upstream"
      /// The upstream got it, and neither ledger nor receipt have it.
      case notInLedger = "not-in-ledger"
      /// It came at the upstream behind a later one.
      case anotherOrder = "another-order"
    }

    /// The number; several where it cannot be told which of them it is.
    package var numbers: SequenceRange
    /// Why.
    package var reason: Reason
    /// The number that came before it, for ``Reason/anotherOrder``.
    package var behind: Int64?
    /// The number with which the ledger goes on, for ``Reason/chainNotInLedger``.
    package var next: Int64?
    /// The number of the commit that has two histories, for ``Reason/twoHistories``.
    package var group: Int64?

    /// Puts a fault together.
    package init(
      _ numbers: SequenceRange, _ reason: Reason, behind: Int64? = nil, next: Int64? = nil,
      group: Int64? = nil
    ) {
      self.numbers = numbers
      self.reason = reason
      self.behind = behind
      self.next = next
      self.group = group
    }

    init(_ number: Int64, _ reason: Reason, behind: Int64? = nil) {
      self.init(SequenceRange(first: number, last: number), reason, behind: behind)
    }
  }

  /// Rows, pages and arrivals in order.
  private let evidence: LaneEvidence
  /// The numbers of which pages contradict each other, in order.
  private let contradictions: [Int64]
  let hash: ReceiptHash

  /// Puts what was collected in order.
  package init(_ evidence: consuming LaneEvidence, _ hash: @escaping ReceiptHash) {
    contradictions = evidence.merge()
    self.evidence = evidence
    self.hash = hash
  }

  /// How many requests came under numbers that none of some chains speaks for.
  package func requests(outside chains: [Chain]) -> Int {
    evidence.arrivals.count - chains.reduce(0) { $0 + arrivals(in: $1.numbers).count }
  }

  /// Audits the numbers of one chain.
  ///
  /// First come faults that leave nothing to go by: receipts that contradict each other, numbers
  /// of which the ledger was not shown, pages that contradict each other, a chain without a row.
  /// Else it is the lowest number that fails.
  package func verdict(on chain: Chain) -> Verdict {
    let numbers = chain.numbers
    if let number = chain.contradiction { return .fails(Fault(number, .receiptsContradict)) }
    if let number = firstWithoutPage(in: numbers) { return .fails(Fault(number, .noPage)) }
    let contradiction = contradictions.first { $0 >= numbers.first }
    if let contradiction, contradiction <= numbers.last {
      return .fails(Fault(contradiction, .pagesContradict))
    }
    if let next = firstRow(behind: numbers), rows(in: numbers).isEmpty {
      return .fails(Fault(numbers, .chainNotInLedger, next: next))
    }
    let overtaken = firstOvertaken(in: numbers)
    var former = chain.base
    for checkpoint in chain.checkpoints {
      let segment = Segment(self, after: former, through: checkpoint)
      let fault = segment.fault()
      // One that came late stands before whatever is wrong behind it.
      if let overtaken, overtaken.numbers.first <= checkpoint.number,
        overtaken.numbers.first < fault?.numbers.first ?? .max
      {
        return .fails(overtaken)
      }
      if let fault { return .fails(fault) }
      former = checkpoint
    }
    return .holds(counts(of: numbers))
  }

  private func counts(of numbers: SequenceRange) -> Counts {
    var counts = Counts()
    let rows = rows(in: numbers)
    for row in rows {
      switch row.ending?.state {
      case .delivered: counts.delivered += 1
      case .failed: counts.failed += 1
      case .expired: counts.expired += 1
      case .cancelled: counts.cancelled += 1
      default: counts.waiting += 1
      }
    }
    counts.givenUp = numbers.count - Int64(rows.count)
    let arrivals = arrivals(in: numbers)
    counts.repeated = Int64(arrivals.indices.count { !isFirst($0, of: arrivals) })
    return counts
  }
}

// MARK: - Looking things up

extension LaneAudit {
  func rows(in numbers: SequenceRange) -> ArraySlice<LaneEvidence.Row> {
    let rows = evidence.rows
    let start = rows.firstPlace { $0.number >= numbers.first }
    return rows[start..<rows.firstPlace { $0.number > numbers.last }]
  }

  func arrivals(in numbers: SequenceRange) -> ArraySlice<LaneEvidence.Arrival> {
    let arrivals = evidence.arrivals
    let start = arrivals.firstPlace { $0.number >= numbers.first }
    return arrivals[start..<arrivals.firstPlace { $0.number > numbers.last }]
  }

  /// The first number behind some that has a row.
  private func firstRow(behind numbers: SequenceRange) -> Int64? {
    evidence.rows[evidence.rows.firstPlace { $0.number > numbers.last }...].first?.number
  }

  /// The first number for which no page speaks.
  private func firstWithoutPage(in numbers: SequenceRange) -> Int64? {
    var next = numbers.first
    for page in evidence.pages {
      guard page.first <= next else { break }
      next = max(next, page.last + 1)
    }
    return next <= numbers.last ? next : nil
  }

  /// The lowest number that came for the first time once a later one had come.
  private func firstOvertaken(in numbers: SequenceRange) -> Fault? {
    let arrivals = arrivals(in: numbers)
    var earliest: LaneEvidence.Arrival?
    var found: Fault?
    for index in arrivals.indices.reversed() where isFirst(index, of: arrivals) {
      let arrival = arrivals[index]
      if let earliest, earliest.place < arrival.place {
        found = Fault(arrival.number, .anotherOrder, behind: earliest.number)
      } else {
        earliest = arrival
      }
    }
    return found
  }

  /// Whether nothing came before under the same number.
  private func isFirst(_ index: Int, of arrivals: ArraySlice<LaneEvidence.Arrival>) -> Bool {
    index == arrivals.startIndex || arrivals[index - 1].number != arrivals[index].number
  }
}

extension Array {
  /// The place of the first element that is on the right side; all those behind it are, too.
  fileprivate func firstPlace(where isRight: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isRight(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

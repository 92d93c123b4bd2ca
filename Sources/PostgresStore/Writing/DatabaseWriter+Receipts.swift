#if PostgreSQL
import Postgres
import RelayCore
import Synchronization

/// A step of a lane's chain.
struct ChainLink {
  enum Step {
    /// A number under which something came: nil if what a receipt covers of it is not known.
    case take(Int64, LinkedEnvelope?)
    /// Numbers under which nothing came, and which nobody waits for.
    case pass(SequenceRange)
  }

  let lane: LaneNumber
  let step: Step
}

// The chains of lanes that number their envelopes, and the receipts of each transaction.
extension DatabaseWriter {
  /// Plans how the chains of lanes go on.
  ///
  /// The group before is read each time: a database may have lost its last commits in a failover.
  ///
  /// - Returns: How that is written, and what it is; nil if nothing goes on.
  func receipts(
    for rows: PostRows
  ) throws(StoreError) -> (commands: [PostgresCommand], closed: ClosedChains?) {
    guard let rules = shared.receiptRules, !rows.links.isEmpty else { return ([], nil) }
    var (chains, mark) = try openChains(for: rows, rules)
    for link in rows.links {
      switch link.step {
      case .take(let number, let came):
        chains.take(number, came, in: link.lane, rules.hash) {
          (0..<LaneChain.incarnationBytes).map { _ in
            UInt8.random(in: .min ... .max, using: &random)
          }
        }
      case .pass(let numbers): chains.pass(numbers, in: link.lane)
      }
    }
    let time = shared.clock()
    let closed = chains.close(rules, of: receiptOrigin, after: mark, at: time)
    let group = closed.group.map { PostgresCommand.insert(receipt: $0, at: time) }
    let entries: [PostgresCommand] =
      closed.entries.isEmpty
      ? [] : [.insert(entries: closed.entries, at: time), .keepRelaysAway(below: 5)]
    return ([.keep(chains: closed.chains)] + [group].compactMap(\.self) + entries, closed)
  }

  private func openChains(
    for rows: PostRows, _ rules: ReceiptRules
  ) throws(StoreError) -> (chains: OpenChains, mark: ReceiptMark?) {
    let lanes = Set(rows.links.map(\.lane))
    let answers = try read([
      PostgresCommand(
        """
        SELECT lane.number, chain, client.name, lane.name
        FROM lane JOIN client ON client.number = lane.client WHERE lane.number = ANY($1)
        """, [.int64s(lanes.map(\.rawValue))]), .lastReceipt,
    ])
    let found = answers[0]
    var chains = OpenChains()
    for row in 0..<found.count {
      let name = LaneName(client: found.text(row, 2), lane: found.text(row, 3))
      let stored = found.bytesOrNil(row, 1).flatMap(StoredChain.init)
      chains.open(LaneNumber(rawValue: found.int64(row, 0)), name, stored, rules)
    }
    for lane in lanes where !chains.isOpen(lane) {
      guard let name = rows.laneNames[lane] else {
        preconditionFailure("a lane that is not stored yet is new by this transaction")
      }
      chains.open(lane, name, nil, rules)
    }
    return (chains, ReceiptMark(answers[1]))
  }

  /// Forgets receipts that are kept no longer; see ``ReceiptStore``.
  func forgetReceipts(_ retention: ReceiptRetention, countMax: Int) throws(StoreError) -> Bool {
    let areGroupsDone = try forgetGroups(retention, countMax: countMax)
    let areEntriesDone = try forgetEntries(retention, countMax: countMax)
    return areGroupsDone && areEntriesDone
  }

  private func forgetGroups(
    _ retention: ReceiptRetention, countMax: Int
  ) throws(StoreError) -> Bool {
    let answers = try read([
      .lastReceipt,
      PostgresCommand(
        """
        SELECT number, at FROM receipt WHERE number < (SELECT max(number) FROM receipt)
        ORDER BY number LIMIT $1
        """, [.int64(Int64(countMax))]),
    ])
    let oldest = (0..<answers[1].count).map {
      (number: answers[1].int64($0, 0), at: answers[1].int64($0, 1))
    }
    let last = ReceiptMark(answers[0])?.number ?? 0
    guard let through = retention.lastForgotten(among: oldest, last: last) else { return true }
    try write(
      [PostgresCommand("DELETE FROM receipt WHERE number <= $1", [.int64(through)])], shards: [])
    shared.figures.withLock { $0.receipts.forgot(through: through) }
    return oldest.count < countMax || oldest.last?.number != through
  }
}

extension ReceiptMark {
  /// Reads what ``PostgresCommand/lastReceipt`` has found; nil if there is none.
  fileprivate init?(_ rows: PostgresRows) {
    guard rows.count == 1 else { return nil }
    self.init(number: rows.int64(0, 0), payload: rows.bytes(0, 1))
  }
}

extension PostgresCommand {
  /// The last group of receipts.
  fileprivate static let lastReceipt = PostgresCommand(
    "SELECT number, payload FROM receipt ORDER BY number DESC LIMIT 1")

  fileprivate static func keep(
    chains: [(lane: LaneNumber, chain: StoredChain?)]
  ) -> PostgresCommand {
    PostgresCommand(
      """
      UPDATE lane SET chain = new.chain FROM unnest($1, $2) AS new(number, chain)
      WHERE lane.number = new.number
      """,
      [.int64s(chains.map(\.lane.rawValue)), .byteStrings(chains.map { $0.chain?.bytes })])
  }

  fileprivate static func insert(receipt group: ReceiptGroup, at time: WallTime) -> PostgresCommand
  {
    PostgresCommand(
      "INSERT INTO receipt VALUES ($1, $2, $3, $4)",
      [
        .int64(group.number), .int64(time.millisecondsSinceEpoch), .bytes(group.payload),
        .bytes(Array(group.leaves.joined())),
      ])
  }
}

extension DatabaseReader {
  /// The chain of a lane; see ``ReceiptStore``.
  func chain(of lane: LaneName) throws(StoreError) -> StoredChain? {
    let rows = try run([
      PostgresCommand(
        """
        SELECT chain FROM lane JOIN client ON client.number = lane.client
        WHERE client.name = $1 AND lane.name = $2 AND chain IS NOT NULL
        """, [.text(lane.client), .text(lane.lane)])
    ])[0]
    return rows.count == 1 ? StoredChain(rows.bytes(0, 0)) : nil
  }

  /// Whether there are any groups.
  func hasReceipts() throws(StoreError) -> Bool {
    try run([PostgresCommand("SELECT 1 FROM receipt LIMIT 1")])[0].count == 1
  }

  /// A group of receipts; see ``ReceiptStore``.
  func receiptGroup(_ number: Int64) throws(StoreError) -> StoredGroup? {
    let rows = try run([
      PostgresCommand("SELECT payload, leaves FROM receipt WHERE number = $1", [.int64(number)])
    ])[0]
    guard rows.count == 1 else { return nil }
    return StoredGroup(payload: rows.bytes(0, 0), leaves: rows.bytes(0, 1))
  }
}
#endif

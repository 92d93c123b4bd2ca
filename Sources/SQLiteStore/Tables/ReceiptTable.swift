import RelayCore
import SQLite

/// The writer's statements on chains and receipts, prepared once.
final class ReceiptStatements {
  let findChain: Statement
  let keepChain: Statement
  /// The same together with the lane's greatest number.
  let keepNumbered: Statement
  let coveredDigest: Statement
  private let findNames: Statement
  private let insertGroup: Statement
  private let oldestGroups: Statement
  private let forgetGroups: Statement
  /// The store's identity.
  let store: [UInt8]

  init(on connection: borrowing Connection) throws(StoreError) {
    findChain = try Statement("SELECT chain FROM lane WHERE number = ?", on: connection)
    keepChain = try Statement("UPDATE lane SET chain = ? WHERE number = ?", on: connection)
    keepNumbered = try Statement(
      "UPDATE lane SET last_sequence = ?, chain = ? WHERE number = ?", on: connection)
    coveredDigest = try Statement(
      "SELECT covered_digest FROM envelope WHERE serial = ?", on: connection)
    findNames = try Statement(
      """
      SELECT client.name, lane.name FROM lane JOIN client ON client.number = lane.client \
      WHERE lane.number = ?
      """, on: connection)
    insertGroup = try Statement(
      "INSERT INTO receipt (number, at, payload, leaves) VALUES (?, ?, ?, ?)", on: connection)
    // The last one is kept: the next one refers to it.
    oldestGroups = try Statement(
      """
      SELECT number, at FROM receipt WHERE number < (SELECT max(number) FROM receipt) \
      ORDER BY number LIMIT ?
      """, on: connection)
    forgetGroups = try Statement("DELETE FROM receipt WHERE number <= ?", on: connection)
    store = try Statement("SELECT id FROM receipt_origin", on: connection)
      .one(or: "a store without an identity") { $0.bytes(0) }
  }

  /// The names of a lane.
  func name(of lane: LaneNumber) throws(StoreError) -> LaneName {
    try findNames.one(lane, or: "a lane without a client") {
      LaneName(client: $0.text(0) ?? "", lane: $0.text(1) ?? "")
    }
  }

  /// Stores a group.
  func insert(_ group: ReceiptGroup, at time: WallTime) throws(StoreError) {
    insertGroup.set(group.number, time, group.payload)
    try insertGroup.runBorrowing(4, Array(group.leaves.joined()))
  }

  /// Deletes the oldest groups that are not kept.
  ///
  /// - Returns: Whether none are left to delete, and the last that was deleted; nil if none was.
  func forget(
    _ retention: ReceiptRetention, after last: Int64, countMax: Int
  ) throws(StoreError) -> (isDone: Bool, through: Int64?) {
    let oldest = try oldestGroups.rows(countMax) { (number: $0.int(0), at: $0.int(1)) }
    guard let through = retention.lastForgotten(among: oldest, last: last) else {
      return (true, nil)
    }
    try forgetGroups.run(through)
    return (oldest.count < countMax || oldest.last?.number != through, through)
  }

  /// The numbers of the groups that are kept; nil if there is none.
  ///
  /// - Parameter last: The number of the last one; nil if there is none.
  static func kept(
    through last: Int64?, on connection: borrowing Connection
  ) throws(StoreError) -> ClosedRange<Int64>? {
    guard let last else { return nil }
    let first = try Statement(
      "SELECT number FROM receipt ORDER BY number LIMIT 1", on: connection
    ).first { $0.int(0) }
    return first.map { min(max($0, 1), last)...last }
  }

  /// The last group that was made; nil if there is none.
  static func mark(
    on connection: borrowing Connection
  ) throws(StoreError) -> ReceiptMark? {
    try Statement(
      "SELECT number, payload FROM receipt ORDER BY number DESC LIMIT 1", on: connection
    ).first { ReceiptMark(number: min($0.int(0), 1 << 60), payload: $0.bytes(1)) }
  }
}

/// A reader's statements on receipts, prepared once.
final class ReceiptQueries {
  private let findChain: Statement
  private let findGroup: Statement
  private let findAny: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    findChain = try Statement(
      """
      SELECT lane.chain FROM lane JOIN client ON client.number = lane.client \
      WHERE client.name = ? AND lane.name = ?
      """, on: connection)
    findGroup = try Statement(
      "SELECT payload, leaves FROM receipt WHERE number = ?", on: connection)
    findAny = try Statement("SELECT 1 FROM receipt LIMIT 1", on: connection)
  }

  /// The chain of a lane.
  func chain(of lane: LaneName) throws(StoreError) -> StoredChain? {
    let bytes = try findChain.first(lane.client, lane.lane) { $0.isNull(0) ? nil : $0.bytes(0) }
    return bytes.flatMap(\.self).flatMap(StoredChain.init)
  }

  /// Whether there are any groups.
  func hasGroups() throws(StoreError) -> Bool { try findAny.first { _ in true } ?? false }

  /// A group.
  func group(_ number: Int64) throws(StoreError) -> StoredGroup? {
    try findGroup.first(number) { StoredGroup(payload: $0.bytes(0), leaves: $0.bytes(1)) }
  }
}

import RelayCore

/// The condition that the database itself checks in a walk, beside the states: the one that most
/// rows fail.
///
/// So a row that cannot pass costs next to nothing.
enum ListingPrefilter: Equatable {
  case none
  case lane(Int64)
  case client(Int64)
  case tag(String)
  case upstream(Int64)
}

/// A prepared walk along one of the narrow tables.
final class ListingWalk {
  let statement: Statement

  init(_ sql: String, on connection: borrowing Connection) throws(StoreError) {
    statement = try Statement(sql, on: connection)
  }
}

/// A walk that also needs the envelope of each row, from either side.
private struct ListingWalkPair {
  /// The narrow table leads, and the envelope of each of its rows is looked up: for few rows.
  let sparse: ListingWalk
  /// The envelopes lead: for many rows, where it takes a fifth of the time of looking each up.
  let dense: ListingWalk
}

/// The walks along one narrow table, one for each kind of sieve.
///
/// Each takes its beginning and its end, the states as a set of bits, and the sieve's value. No
/// index helps: acceptance would pay for it.
final class ListingWalks {
  private let all: ListingWalk
  private let ofLane: ListingWalkPair
  private let ofClient: ListingWalkPair
  private let ofTag: ListingWalkPair
  private let ofUpstream: ListingWalkPair
  private let firstBehind: Statement
  private let greatest: Statement

  /// - Parameters:
  ///   - columns: The columns to read.
  ///   - state: The column with the state.
  ///   - hasTerms: Whether the table itself has client, lane and upstream.
  init(
    table: String, columns: [String], state: String, hasTerms: Bool,
    on connection: borrowing Connection
  ) throws(StoreError) {
    let read = "SELECT " + columns.map { "t.\($0)" }.joined(separator: ", ") + " FROM "
    let states = " AND (?3 >> t.\(state)) & 1"
    func range(_ row: String) -> String { " WHERE \(row).serial > ?1 AND \(row).serial <= ?2" }
    func alone(_ condition: String) -> String {
      read + "\(table) AS t" + range("t") + condition + states + " ORDER BY t.serial"
    }
    func pair(_ column: String) throws(StoreError) -> ListingWalkPair {
      let joined = "envelope AS e ON e.serial = t.serial"
      let condition = " AND e.\(column) = ?4"
      return ListingWalkPair(
        sparse: try ListingWalk(
          read + "\(table) AS t CROSS JOIN \(joined)" + range("t") + states + condition
            + " ORDER BY t.serial", on: connection),
        dense: try ListingWalk(
          read + "envelope AS e CROSS JOIN \(table) AS t ON t.serial = e.serial" + range("e")
            + condition + states + " ORDER BY e.serial", on: connection))
    }
    func own(_ column: String) throws(StoreError) -> ListingWalkPair {
      guard hasTerms else { return try pair(column) }
      let walk = try ListingWalk(alone(" AND t.\(column) = ?4"), on: connection)
      return ListingWalkPair(sparse: walk, dense: walk)
    }
    all = try ListingWalk(alone(""), on: connection)
    ofLane = try own("lane")
    ofClient = try own("client")
    ofUpstream = try own("upstream")
    ofTag = try pair("tag")
    firstBehind = try Statement(
      "SELECT serial FROM \(table) WHERE serial > ? ORDER BY serial LIMIT 1", on: connection)
    greatest = try Statement(
      "SELECT serial FROM \(table) ORDER BY serial DESC LIMIT 1", on: connection)
  }

  /// A walk over the rows after one number, up to and including another, that pass a sieve.
  ///
  /// - Parameters:
  ///   - states: A bit for each code in the state's column.
  ///   - isDense: Whether a good part of all envelopes is in one of these states.
  func walk(
    behind start: Int64, through end: Int64, states: Int64, _ sieve: ListingPrefilter, isDense: Bool
  ) -> ListingWalk {
    let pair: ListingWalkPair? =
      switch sieve {
      case .none: nil
      case .lane: ofLane
      case .client: ofClient
      case .tag: ofTag
      case .upstream: ofUpstream
      }
    let walk = (isDense ? pair?.dense : pair?.sparse) ?? all
    walk.statement.reset()
    walk.statement.bind(1, start)
    walk.statement.bind(2, end)
    walk.statement.bind(3, states)
    switch sieve {
    case .none: break
    case .lane(let number), .client(let number), .upstream(let number):
      walk.statement.bind(4, number)
    case .tag(let tag): walk.statement.bind(4, tag)
    }
    return walk
  }

  /// The first row after a number; nil if there is none.
  func first(behind number: Int64) throws(StoreError) -> Int64? {
    firstBehind.bind(1, number)
    guard try firstBehind.step() else { return nil }
    defer { firstBehind.reset() }
    return firstBehind.int(0)
  }

  /// The last row; nil for an empty table.
  func last() throws(StoreError) -> Int64? {
    guard try greatest.step() else { return nil }
    defer { greatest.reset() }
    return greatest.int(0)
  }
}

import RelayCore
import SQLite

/// A reader's statements for listings, prepared once.
///
/// No index of single envelopes serves a filter, since acceptance would pay for it. A listing walks
/// the narrow tables in the order of their keys, reads `envelope` only if they do not say enough,
/// and skips what a block's index does not name.
final class ListingStatements {
  let line: ListingWalks
  let ended: ListingWalks
  let leading: Statement
  let summary: Statement
  let lastError: Statement
  let counts: Statement
  let searchBlock: Statement
  let idsFrom: Statement
  let findLane: Statement
  let findUpstream: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    line = try ListingWalks(
      table: "line", columns: ["serial", "client", "lane", "upstream", "standing"],
      state: "standing", end: nil, hasTerms: true, on: connection)
    ended = try ListingWalks(
      table: "ended", columns: ["serial", "state"], state: "state", end: "ended_at",
      hasTerms: false, on: connection)
    // All of these columns are before the long ones, so that overflow pages are not touched.
    leading = try Statement(
      "SELECT client, lane, upstream, tag, id FROM envelope WHERE serial = ?", on: connection)
    // length() of a blob is read off its row's header, without the body.
    summary = try Statement(
      """
      SELECT e.id, c.name, l.name, u.name, e.key, e.sequence, e.tag, e.hold, e.not_before, \
      e.expires_at, e.on_failure, e.method, e.target, length(e.body), e.lane, \
      e.has_references, e.coalesce_key \
      FROM envelope AS e JOIN client AS c ON c.number = e.client \
      JOIN lane AS l ON l.number = e.lane JOIN upstream AS u ON u.number = e.upstream \
      WHERE e.serial = ?
      """, on: connection)
    lastError = try Statement(
      "SELECT error FROM attempt WHERE serial = ? ORDER BY number DESC LIMIT 1", on: connection)
    // In the order of the codes: of waiting envelopes from 0, of ended ones from 1.
    let columns = Standing.columns + EnvelopeState.endColumns
    counts = try Statement(
      "SELECT \(columns.joined(separator: ", ")) FROM ledger", on: connection)
    searchBlock = try Statement(SearchStatements.findSQL, on: connection)
    idsFrom = try Statement(
      "SELECT serial, id FROM envelope WHERE serial >= ? AND serial < ? ORDER BY serial LIMIT ?",
      on: connection)
    findLane = try Statement(
      "SELECT number FROM lane WHERE client = ? AND name = ?", on: connection)
    findUpstream = try Statement("SELECT number FROM upstream WHERE name = ?", on: connection)
  }
}

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

/// A walk that also needs the envelope of each row, from either side.
private struct ListingWalkPair {
  /// The narrow table leads, and the envelope of each of its rows is looked up: for few rows.
  let sparse: SharedStatement
  /// The envelopes lead: for many rows, where it takes a fifth of the time of looking each up.
  let dense: SharedStatement
}

/// The walks along one narrow table, one for each kind of sieve.
///
/// Each takes its beginning and its end, the states as a set of bits, the sieve's value, and the
/// span of the times of the end. No index helps: acceptance would pay for it.
final class ListingWalks {
  private let all: SharedStatement
  private let ofLane: ListingWalkPair
  private let ofClient: ListingWalkPair
  private let ofTag: ListingWalkPair
  private let ofUpstream: ListingWalkPair
  private let hasEnd: Bool
  private let firstBehind: Statement
  private let greatest: Statement

  /// - Parameters:
  ///   - columns: The columns to read.
  ///   - state: The column with the state.
  ///   - end: The column with the time of the end; nil if its envelopes have not ended.
  ///   - hasTerms: Whether the table itself has client, lane and upstream.
  init(
    table: String, columns: [String], state: String, end: String?, hasTerms: Bool,
    on connection: borrowing Connection
  ) throws(StoreError) {
    let read = "SELECT " + columns.map { "t.\($0)" }.joined(separator: ", ") + " FROM "
    let times = end.map { " AND t.\($0) >= ?5 AND t.\($0) < ?6" } ?? ""
    let states = " AND (?3 >> t.\(state)) & 1" + times
    hasEnd = end != nil
    func range(_ row: String) -> String { " WHERE \(row).serial > ?1 AND \(row).serial <= ?2" }
    func alone(_ condition: String) -> String {
      read + "\(table) AS t" + range("t") + condition + states + " ORDER BY t.serial"
    }
    func pair(_ column: String) throws(StoreError) -> ListingWalkPair {
      let joined = "envelope AS e ON e.serial = t.serial"
      let condition = " AND e.\(column) = ?4"
      return ListingWalkPair(
        sparse: try SharedStatement(
          read + "\(table) AS t CROSS JOIN \(joined)" + range("t") + states + condition
            + " ORDER BY t.serial", on: connection),
        dense: try SharedStatement(
          read + "envelope AS e CROSS JOIN \(table) AS t ON t.serial = e.serial" + range("e")
            + condition + states + " ORDER BY e.serial", on: connection))
    }
    func own(_ column: String) throws(StoreError) -> ListingWalkPair {
      guard hasTerms else { return try pair(column) }
      let walk = try SharedStatement(alone(" AND t.\(column) = ?4"), on: connection)
      return ListingWalkPair(sparse: walk, dense: walk)
    }
    all = try SharedStatement(alone(""), on: connection)
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
  ///   - ended: The times of the end, where the table has them.
  ///   - isDense: Whether a good part of all envelopes is in one of these states.
  func walk(
    behind start: Int64, through end: Int64, states: Int64, _ sieve: ListingPrefilter,
    ended: EnvelopeSelection.TimeSpan, isDense: Bool
  ) -> SharedStatement {
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
    walk.statement.set(start, end, states)
    if hasEnd {
      walk.statement.bind(5, ended.since?.millisecondsSinceEpoch ?? .min)
      walk.statement.bind(6, ended.until?.millisecondsSinceEpoch ?? .max)
    }
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
    try firstBehind.first(number) { $0.int(0) }
  }

  /// The last row; nil for an empty table.
  func last() throws(StoreError) -> Int64? {
    try greatest.first { $0.int(0) }
  }
}

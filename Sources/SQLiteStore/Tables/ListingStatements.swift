import RelayCore

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
  let findLane: Statement
  let findUpstream: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    line = try ListingWalks(
      table: "line", columns: ["serial", "client", "lane", "upstream", "standing"],
      state: "standing", hasTerms: true, on: connection)
    ended = try ListingWalks(
      table: "ended", columns: ["serial", "state"], state: "state", hasTerms: false, on: connection)
    // All of these columns are before the long ones, so that overflow pages are not touched.
    leading = try Statement(
      "SELECT client, lane, upstream, tag FROM envelope WHERE serial = ?", on: connection)
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
    counts = try Statement(
      "SELECT queued, held, blocked, parked, delivered, failed, expired, cancelled FROM ledger",
      on: connection)
    searchBlock = try Statement(SearchStatements.findSQL, on: connection)
    findLane = try Statement(
      "SELECT number FROM lane WHERE client = ? AND name = ?", on: connection)
    findUpstream = try Statement("SELECT number FROM upstream WHERE name = ?", on: connection)
  }
}

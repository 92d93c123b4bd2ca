#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseReader {
  /// The envelopes after `serial` that pass a filter; see ``EnvelopeStore``.
  func list(
    _ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) throws(StoreError) -> EnvelopePage {
    let looksMax = min(looksMax, ReadingLimits.looksMax)
    var page = EnvelopePage(envelopes: [], scannedThrough: serial, hasMore: false)
    let command = ListingQuery.command(
      filter, after: serial, countMax: countMax, looksMax: looksMax)
    guard let command else { return page }
    let rows = try run([command])[0]
    // One row tells what was looked at, also if nothing passes.
    let isEmpty = rows.isNull(0, 0)
    for row in 0..<min(rows.count, countMax) where !isEmpty {
      page.envelopes.append(try EnvelopeSummary(rows, row))
    }
    guard let count = rows.int64OrNil(0, SummaryRow.columnCount) else {
      page.scannedThrough = page.envelopes.last?.fate.serial ?? serial
      page.hasMore = true
      return page
    }
    page.scannedThrough = rows.int64OrNil(0, SummaryRow.columnCount + 1) ?? serial
    page.hasMore = count >= Int64(looksMax)
    return page
  }

  /// The summaries of some envelopes, in the order of their ids.
  ///
  /// - Parameter serials: The numbers that they were posted under.
  func summaries(
    of ids: [EnvelopeID], postedUnder serials: [Serial]
  ) throws(StoreError) -> [EnvelopeSummary] {
    let rows = try run([
      PostgresCommand(
        sql: """
          WITH found AS (
            SELECT envelope.serial AS serial, place \(Self.askedByID)
          ), either AS (
            SELECT \(SummaryRow.lineColumns) FROM line
            WHERE serial = ANY(ARRAY(SELECT serial FROM found))
            UNION ALL
            SELECT \(SummaryRow.endedColumns) FROM ended
            WHERE serial = ANY(ARRAY(SELECT serial FROM found))
          ), passing AS (SELECT either.*, place FROM found JOIN either USING (serial))
          SELECT \(SummaryRow.columns) FROM passing \(SummaryRow.joins) ORDER BY place
          """, [.int64s(serials), .uuids(ids.map(\.bytes))])
    ])[0]
    var summaries: [EnvelopeSummary] = []
    for row in 0..<rows.count { summaries.append(try EnvelopeSummary(rows, row)) }
    return summaries
  }
}
#endif

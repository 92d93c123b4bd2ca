import RelayCore
import SQLite

/// The readers' queries of the event log, prepared once, and a cache of names.
final class EventStatements {
  let span: Statement
  let rows: Statement
  /// Never outdated, since a number is never given to a second name.
  var laneNames = GenerationCache<LaneNumber, LaneName>(
    countMax: StoreTuning.eventNamesCachedMax)

  init(on connection: borrowing Connection) throws(StoreError) {
    span = try Statement(
      """
      SELECT origin, (SELECT min(number) FROM event_log), \
      (SELECT coalesce(max(number), 0) FROM event_log) FROM event_origin WHERE number = 1
      """, on: connection)
    rows = try Statement(
      "SELECT number, at, entries FROM event_log WHERE number >= ? ORDER BY number",
      on: connection)
  }
}

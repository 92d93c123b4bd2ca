#if PostgreSQL
import Postgres
import RelayCore

extension DurabilityReading {
  /// Asks the database.
  ///
  /// - Parameter asksForStandbys: Whether to look at who streams from it.
  /// - Throws: ``StoreError`` if it cannot be reached: then nothing is known.
  init(_ reader: DatabaseReader, asksForStandbys: Bool) throws(StoreError) {
    let rows = try reader.run([.durabilitySettings])[0]
    self.init(setting: rows.text(0, 0), names: rows.text(0, 1), role: rows.text(0, 2))
    if asksForStandbys { standbys = try Standbys(reader) }
  }
}

extension DurabilityReading.Standbys {
  fileprivate init(_ reader: DatabaseReader) throws(StoreError) {
    do throws(StoreError) {
      // A question of its own, as it may be refused.
      let rows = try reader.run([.standbys])[0]
      self = .seen(
        connected: rows.int64(0, 0), confirming: rows.int64(0, 1), hidden: rows.int64(0, 2))
    } catch {
      guard error.kind == .other else { throw error }
      self = .refused(error.detail)
    }
  }
}

extension StoreDurability {
  /// Whether the database is asked for anything.
  var isLookedAt: Bool { self != .local }
  /// Whether it is asked for its standbys.
  var needsStandbys: Bool { self == .quorum }
}

extension PostgresCommand {
  fileprivate static let durabilitySettings = PostgresCommand(
    """
    SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
      quote_ident(current_user)
    """)

  /// A role without `pg_read_all_stats` sees who is connected, and NULL for all else
  /// (<https://www.postgresql.org/docs/15/monitoring-stats.html>).
  fileprivate static let standbys = PostgresCommand(
    """
    SELECT count(*),
      count(*) FILTER (WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')),
      count(*) FILTER (WHERE state IS NULL)
    FROM pg_stat_replication
    """)
}
#endif

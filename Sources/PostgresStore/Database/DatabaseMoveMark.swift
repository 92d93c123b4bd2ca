#if PostgreSQL
import Postgres
import RelayCore

/// The mark of a move: a table that only such a store has, with one row.
///
/// A store that was never moved has none, so it takes no new version of the tables.
enum DatabaseMoveMark {
  static let isThere = PostgresCommand("SELECT to_regclass('store_move') IS NOT NULL")
  static let selection = PostgresCommand("SELECT side, move, place FROM store_move")
  static let removal = PostgresCommand("DROP TABLE IF EXISTS store_move")

  /// Sets the mark.
  static func set(_ mark: MoveMark) -> [PostgresCommand] {
    [
      removal,
      PostgresCommand(
        """
        CREATE TABLE store_move (
          is_only bool PRIMARY KEY DEFAULT true CHECK (is_only),
          side text NOT NULL,
          move bigint NOT NULL,
          place text NOT NULL
        )
        """),
      PostgresCommand(
        "INSERT INTO store_move (side, move, place) VALUES ($1, $2, $3)",
        [.text(mark.side.rawValue), .int64(mark.move), .text(mark.place.storable)]),
    ]
  }

  /// Reads ``selection``.
  static func found(in rows: PostgresRows) -> MoveMark? {
    guard rows.count == 1, let side = MoveMark.Side(rawValue: rows.text(0, 0)) else { return nil }
    return MoveMark(side, move: rows.int64(0, 1), place: rows.text(0, 2))
  }
}
#endif

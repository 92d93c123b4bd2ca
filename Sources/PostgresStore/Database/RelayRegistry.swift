#if PostgreSQL
import Postgres
import RelayCore

/// What a relay says of itself to those that it shares its store with.
struct RelayIdentity: Sendable {
  /// The host and port at which other relays reach it; nil if they do not.
  var address: String?
  /// Its release.
  var version: String
}

/// The relays that run, for operators alone: nothing is decided by it.
///
/// Each relay shows itself every few beats. So the times may come from the database's own clock.
struct RelayRegistry {
  /// A relay shows itself with one beat of so many.
  static let beatsPerNote = 4
  /// One that has not shown itself for so long is not listed, in milliseconds.
  static let shownMs: Int64 = 10_000
  /// Its row is deleted after so long, in seconds.
  static let keptSeconds: Int64 = 60

  private let process: Int64
  private let identity: RelayIdentity
  private var beats = 0

  init(of process: Int64, _ identity: RelayIdentity) {
    self.process = process
    self.identity = identity
  }

  /// Counts a beat, and returns what goes with it: none most times.
  mutating func beat() -> [PostgresCommand] {
    defer { beats += 1 }
    guard beats % Self.beatsPerNote == 0 else { return [] }
    return [
      PostgresCommand(
        "DELETE FROM relay WHERE seen_at < clock_timestamp() - make_interval(secs => $1)",
        [.int64(Self.keptSeconds)]),
      PostgresCommand(
        """
        INSERT INTO relay VALUES ($1, $2, $3, clock_timestamp())
        ON CONFLICT (process) DO UPDATE SET seen_at = excluded.seen_at
        """, [.int64(process), .text(identity.address), .text(identity.version)]),
    ]
  }

  /// Removes the row of a relay that ends.
  static func removal(of process: Int64) -> PostgresCommand {
    PostgresCommand("DELETE FROM relay WHERE process = $1", [.int64(process)])
  }

  /// The relays that run, the one with the store first.
  static let list = PostgresCommand(
    sql: """
      SELECT address, version, process IN (SELECT process FROM seat) AS has_store,
        (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint AS seen
      FROM relay WHERE seen_at > clock_timestamp() - interval '\(shownMs) milliseconds'
      ORDER BY has_store DESC, address, process
      """)

  /// Reads ``list``.
  static func relays(in rows: PostgresRows) -> [SharingRelay] {
    (0..<rows.count).map {
      SharingRelay(
        address: rows.textOrNil($0, 0), version: rows.text($0, 1), hasStore: rows.bool($0, 2),
        seenMsAgo: max(0, rows.int64($0, 3)))
    }
  }
}
#endif

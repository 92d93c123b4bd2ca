#if PostgreSQL
import Postgres
import RelayCore

/// From whom a seat takes the store.
enum SeatTaking {
  /// From whoever has it.
  case fromAnybody
  /// From these, as long as they stand at the same beats; from nobody else.
  case from([SeatBeats])
}

/// A seat as it stands in the database.
struct StandingSeat {
  let beats: SeatBeats
  /// The host and port at which other relays reach the one that has it; nil if they do not.
  let address: String?
  /// Whether that one is about to give it up.
  let isLeaving: Bool
}

extension PostgresCommand {
  /// Has the server go by its indexes: whoever has the store looks up single rows by their keys.
  ///
  /// A server without statistics of the tables yet, as in the first minute of a new store, reads
  /// whole tables in place of that, for each of many rows. Compiling such a small query costs more
  /// than running it.
  static let goingByIndex = PostgresCommand(
    "SELECT set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)")

  /// The seats that stand.
  static let seats = PostgresCommand(
    "SELECT incarnation, beats, address, draining FROM seat ORDER BY incarnation")

  /// Takes the store for a new seat; the answer is the epoch, or null if somebody else has it.
  static func takeStore(
    for mine: Int64, process: Int64, reachedAt address: String?, _ taking: SeatTaking
  ) -> [PostgresCommand] {
    var former: [SeatBeats] = []
    var commands: [PostgresCommand] = []
    switch taking {
    case .fromAnybody: commands.append(PostgresCommand("DELETE FROM seat"))
    case .from(let seats): former = seats
    }
    let take = PostgresCommand(
      "SELECT take_store($1, $2, $3, $4, $5)",
      [
        .int64(mine), .int64(process), .text(address),
        .int64s(former.map(\.incarnation.rawValue)),
        .int64s(former.map(\.beats)),
      ])
    return commands + [take]
  }

  /// Ends the connections of those seats from which the store is taken.
  ///
  /// The number of a connection that has ended may be another one's by now, and after a failover it
  /// is: so the time of its beginning has to be the same as well.
  static func endBackends(of taking: SeatTaking) -> PostgresCommand {
    let end = """
      SELECT pg_terminate_backend(pid) FROM seat JOIN pg_stat_activity
      ON pid = backend AND pg_stat_activity.backend_start = seat.backend_start
      """
    switch taking {
    case .fromAnybody: return PostgresCommand(sql: end)
    case .from(let seats):
      return PostgresCommand(
        sql: end + " WHERE incarnation = ANY($1)", [.int64s(seats.map(\.incarnation.rawValue))])
    }
  }

  /// Reads ``seats``.
  static func seats(in rows: PostgresRows) -> [StandingSeat] {
    (0..<rows.count).map {
      StandingSeat(
        beats: SeatBeats(
          incarnation: Incarnation(rawValue: rows.int64($0, 0)), beats: rows.int64($0, 1)),
        address: rows.textOrNil($0, 2), isLeaving: rows.bool($0, 3))
    }
  }
}
#endif

#if PostgreSQL
import Postgres
import RelayCore

// Endings that are to be told. Only clients that have checked in have any: those who never do cost
// nothing.
extension DatabaseWriter {
  /// From now on this client's endings are kept to be told.
  ///
  /// One that was forgotten since it was looked up has nothing to be told.
  func registerCheckIn(of client: ClientNumber, shard: Int) throws(StoreError) {
    let known = try read([
      PostgresCommand("SELECT 1 FROM client WHERE number = $1", [.int64(client.rawValue)])
    ])[0]
    guard known.count > 0 else { return }
    try write(
      [
        PostgresCommand(
          "INSERT INTO checks_in VALUES ($1, false, 0) ON CONFLICT DO NOTHING",
          [.int64(client.rawValue)])
      ], shards: [shard])
    checkingIn.insert(client)
  }

  /// Adds what had ended before the client first checked in.
  ///
  /// One that has ended since the client was registered has its number already.
  func fill(
    _ serials: [Serial], endedOf client: ClientNumber, shard: Int
  ) throws(StoreError) {
    let first = given.lastEnding + 1
    given.lastEnding += Int64(serials.count)
    try write(
      [
        PostgresCommand(
          """
          WITH told AS (
            UPDATE ended SET ending = new.number FROM unnest($2, $3) AS new(serial, number)
            WHERE ended.serial = new.serial AND ended.ending IS NULL
            RETURNING ended.serial, ended.ending
          )
          INSERT INTO ending SELECT $1, ending, serial FROM told
          """,
          [
            .int64(client.rawValue), .int64s(serials),
            .int64s(serials.indices.map { first + Int64($0) }),
          ]),
        PostgresCommand(
          "UPDATE checks_in SET is_filled = true, last = greatest(last, $2) WHERE client = $1",
          [.int64(client.rawValue), .int64(serials.isEmpty ? 0 : given.lastEnding)]),
      ], shards: [shard])
  }

  /// Forgets what a client has seen.
  func forgetEndings(
    of client: ClientNumber, shard: Int, through number: EndingNumber
  ) throws(StoreError) {
    try write(
      [
        PostgresCommand(
          "DELETE FROM ending WHERE client = $1 AND number <= $2",
          [.int64(client.rawValue), .int64(number)])
      ], shards: [shard])
  }

  /// The number of an ending that is to be told; nil if its client does not check in.
  func numberEnding(of client: ClientNumber) -> EndingNumber? {
    guard checkingIn.contains(client) else { return nil }
    given.lastEnding += 1
    return given.lastEnding
  }
}

extension PostgresCommand {
  /// Has the clients of some ends be told of them.
  static func insert(endingsOf rows: [EndedRow]) -> [PostgresCommand] {
    let clients = PostgresValue.int64s(rows.map(\.client.rawValue))
    let numbers = PostgresValue.int64s(rows.map(\.ending))
    return [
      PostgresCommand(
        "INSERT INTO ending SELECT * FROM unnest($1, $2, $3)",
        [clients, numbers, .int64s(rows.map(\.serial))]),
      PostgresCommand(
        """
        UPDATE checks_in SET last = new.last FROM (
          SELECT client, max(number) FROM unnest($1, $2) AS one(client, number) GROUP BY client
        ) AS new(client, last) WHERE checks_in.client = new.client
        """, [clients, numbers]),
    ]
  }

  /// Has nobody be told of some ends: the envelopes wait again, or have ended otherwise.
  static func delete(endingsOf rows: [EndedRow]) -> PostgresCommand {
    PostgresCommand(
      """
      DELETE FROM ending USING unnest($1, $2) AS old(client, number)
      WHERE ending.client = old.client AND ending.number = old.number
      """, [.int64s(rows.map(\.client.rawValue)), .int64s(rows.map(\.ending))])
  }
}
#endif

#if PostgreSQL
/// Notes, within the database, under which epoch each statement has written envelopes.
///
/// Its triggers know the writer by its connection: from the seat that got the shards over it, be it
/// by a takeover, or in place of a connection that was lost. So they do not believe what the
/// relays' own fence says. Each such taking, and each statement, gets a number that grows. The
/// fence locks the seat's row before a statement gets its number, and a taking has to delete that
/// row first. So a statement of an earlier taking behind one of a later taking has passed no fence.
struct EpochWitness: Sendable {
  let database: DatabaseAsker

  /// Begins; the relays have made their tables.
  func install() async throws {
    for statement in Self.tables + Self.triggers { try await database.ask(statement) }
  }

  /// How many statements have written, and under how many epochs.
  func counts() async throws -> (statements: Int, epochs: Int) {
    let row = try await database.ask(
      "SELECT count(*)::text, count(DISTINCT epoch)::text FROM witness", columns: 2)[0]
    return (Int(row[0]) ?? 0, Int(row[1]) ?? 0)
  }

  /// What was written by nobody who ever had the store, or after a later epoch had begun to write.
  func violations() async throws -> [String] {
    let rows = try await database.ask(
      """
      SELECT concat('statement ', number, ' on ', relation, ' by taking ', taking, ' of epoch ',
        epoch, ' after taking ', latest)
      FROM (SELECT *, max(taking) OVER (ORDER BY number) AS latest FROM witness) AS noted
      WHERE taking IS NULL OR taking < latest
        OR epoch < (SELECT max(epoch) FROM witness_seat WHERE taking <= noted.taking)
      ORDER BY number LIMIT 20
      """, columns: 1)
    return rows.map { $0[0] }
  }

  private static let tables = [
    """
    CREATE TABLE witness_seat (
      taking bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, backend int,
      backend_start timestamptz, epoch bigint)
    """,
    """
    CREATE TABLE witness (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, taking bigint, epoch bigint,
      relation text)
    """,
    """
    CREATE FUNCTION note_taking() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO witness_seat (backend, backend_start, epoch)
      SELECT backend, backend_start, NEW.epoch FROM seat WHERE incarnation = NEW.holder;
      RETURN NULL;
    END $$
    """,
    """
    CREATE FUNCTION note_writing() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO witness (taking, epoch, relation)
      SELECT max(taking), max(epoch), TG_TABLE_NAME
      FROM pg_stat_get_activity(pg_backend_pid()) AS own
      JOIN witness_seat ON backend = own.pid AND witness_seat.backend_start = own.backend_start;
      RETURN NULL;
    END $$
    """,
    """
    INSERT INTO witness_seat (backend, backend_start, epoch)
    SELECT backend, backend_start, epoch FROM seat, shard
    WHERE shard.shard = 0 AND holder = incarnation
    """,
  ]

  private static let triggers =
    [
      """
      CREATE TRIGGER note_taking AFTER UPDATE ON shard FOR EACH ROW WHEN (NEW.shard = 0)
      EXECUTE FUNCTION note_taking()
      """
    ]
    + ["envelope", "line", "ended", "attempt", "response", "key_index", "lane"].map {
      """
      CREATE TRIGGER note_writing AFTER INSERT OR UPDATE OR DELETE ON \($0) FOR EACH STATEMENT
      EXECUTE FUNCTION note_writing()
      """
    }
}
#endif

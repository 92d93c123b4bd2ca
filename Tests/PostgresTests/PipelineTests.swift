#if PostgreSQL
import Postgres
import PostgresTesting
import Testing

@Suite(
  "A pipeline of commands",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"))
struct PipelineTests {
  private static func connect() throws -> PostgresConnection {
    var connection = try TestDatabase.fresh().connect()
    try connection.execute(
      script: """
        CREATE TABLE a (b int8 PRIMARY KEY);
        CREATE TABLE c (d int8 UNIQUE DEFERRABLE INITIALLY DEFERRED);
        """)
    return connection
  }

  private static func insert(_ number: Int64) -> PostgresCommand {
    PostgresCommand("INSERT INTO a VALUES ($1)", [.int64(number)])
  }

  @Test("is one transaction, and has one result for each command, in their order")
  func order() throws {
    var connection = try Self.connect()
    let rows = try connection.run([
      Self.insert(1), Self.insert(2), PostgresCommand("SELECT b FROM a ORDER BY b"),
      PostgresCommand("UPDATE a SET b = b + 10"), PostgresCommand("DELETE FROM a WHERE b = 12"),
      PostgresCommand("SELECT pg_current_xact_id() = xmin::text::xid8 FROM a"), PostgresCommand(""),
    ])
    #expect(rows.map(\.affectedCount) == [1, 1, 2, 2, 1, 1, 0])
    #expect(rows.map(\.count) == [0, 0, 2, 0, 0, 1, 0])
    #expect((0..<2).map { rows[2].int64($0, 0) } == [1, 2])
    #expect(rows[5].bool(0, 0))
    #expect(try connection.run([]).isEmpty)
  }

  @Test("an error undoes all of it, and the connection goes on", arguments: 0..<5)
  func error(place: Int) throws {
    var connection = try Self.connect()
    _ = try connection.run([Self.insert(100)])
    var commands = (0..<5).map { Self.insert(Int64($0)) }
    commands[place] = Self.insert(100)
    let error = connection.failure(of: commands)
    #expect(error?.kind == .rejected)
    #expect(error?.sqlState == "23505")
    #expect(error?.operation == "insert")
    #expect(error?.detail.contains("a_pkey") == true)
    let isUsable = connection.isUsable
    #expect(isUsable)
    #expect(try connection.run(sql: "SELECT count(*) FROM a").int64(0, 0) == 1)
    _ = try connection.run((0..<5).map { Self.insert(Int64($0)) })
    #expect(try connection.run(sql: "SELECT count(*) FROM a").int64(0, 0) == 6)
  }

  @Test("an error of the commit is an error of the pipeline")
  func commitError() throws {
    var connection = try Self.connect()
    let insert = PostgresCommand("INSERT INTO c VALUES ($1)", [.int64(1)])
    let error = connection.failure(of: [Self.insert(1), insert, insert, Self.insert(2)])
    #expect(error?.kind == .rejected)
    #expect(error?.sqlState == "23505")
    #expect(error?.operation == "commit")
    #expect(try connection.run(sql: "SELECT count(*) FROM a").int64(0, 0) == 0)
  }

  @Test("a statement whose preparation was skipped is prepared at its next use")
  func preparedAfterError() throws {
    var connection = try Self.connect()
    let wrong = PostgresCommand("SELECT 1 / (SELECT count(*) FROM a)")
    let before = PostgresCommand("SELECT $1", [.int64(1)])
    let after = PostgresCommand("SELECT $1 + 1", [.int64(1)])
    let nonsense = PostgresCommand("SELECT nothing FROM nowhere")
    for _ in 0..<3 {
      #expect(connection.failure(of: [before, wrong, after])?.sqlState == "22012")
      #expect(connection.failure(of: [before, nonsense, after])?.sqlState == "42P01")
    }
    let names = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT $%'"
    #expect(try connection.run(sql: names).int64(0, 0) == 1)
    for _ in 0..<3 {
      #expect(try connection.run([before, after, before]).map { $0.int64(0, 0) } == [1, 2, 1])
    }
    #expect(try connection.run(sql: names).int64(0, 0) == 2)
  }

  @Test("the same text with values of another type is another statement")
  func types() throws {
    var connection = try Self.connect()
    for _ in 0..<2 {
      let rows = try connection.run([
        PostgresCommand("SELECT pg_typeof($1)::text", [.int64(1)]),
        PostgresCommand("SELECT pg_typeof($1)::text", [.text("1")]),
      ])
      #expect(rows.map { $0.text(0, 0) } == ["bigint", "text"])
    }
  }

  @Test("a statement is prepared anew after a change of its table, and after it was forgotten")
  func changedTable() throws {
    var connection = try Self.connect()
    let all = "SELECT * FROM a"
    _ = try connection.run(sql: all)
    try connection.execute(script: "ALTER TABLE a ADD COLUMN e text")
    #expect(connection.failure(of: all)?.sqlState == "0A000")
    _ = try connection.run(sql: all)
    try connection.execute(script: "DEALLOCATE ALL")
    #expect(connection.failure(of: all)?.sqlState == "26000")
    _ = try connection.run(sql: all)
  }

  @Test("the server keeps only so many statements")
  func bounded() throws {
    var connection = try Self.connect()
    for number in 0..<1000 {
      #expect(try connection.run(sql: "SELECT \(number)").int64(0, 0) == Int64(number))
    }
    let rows = try connection.run(sql: "SELECT count(*) FROM pg_prepared_statements")
    #expect(rows.int64(0, 0) <= 257)
  }

  @Test("20,000 rows go in and come out by arrays")
  func manyRows() throws {
    var connection = try Self.connect()
    let numbers = (0..<20_000).map { Int64($0) }
    let rows = try connection.run([
      PostgresCommand("INSERT INTO a SELECT unnest($1)", [.int64s(numbers)]),
      PostgresCommand("SELECT b FROM a ORDER BY b"),
      PostgresCommand("SELECT array_agg(b ORDER BY b) FROM a"),
    ])
    #expect(rows[0].affectedCount == 20_000)
    #expect((0..<20_000).map { rows[1].int64($0, 0) } == numbers)
    #expect(rows[2].int64s(0, 0) == numbers)
  }

  @Test("does not stand still when both sides have more to say than fits between them")
  func large() throws {
    var connection = try Self.connect()
    let body = [UInt8](repeating: 7, count: 100 << 10)
    let rows = try connection.run(
      (0..<200).map { _ in PostgresCommand("SELECT $1 || $1", [.bytes(body)]) })
    #expect(rows.count == 200)
    #expect(rows.allSatisfy { $0.bytes(0, 0) == body + body })
  }

  @Test("a script is one transaction, too")
  func script() throws {
    var connection = try Self.connect()
    #expect(throws: PostgresError.self) {
      var connection = try Self.connect()
      try connection.execute(script: "COPY a FROM STDIN")
    }
    do {
      try connection.execute(script: "INSERT INTO a VALUES (1); INSERT INTO a VALUES (1)")
      Issue.record("a key was given out twice")
    } catch {
      #expect(error.kind == .rejected)
      #expect(error.sqlState == "23505")
      #expect(error.operation == "execute")
    }
    try connection.execute(script: "INSERT INTO a VALUES (2); SELECT 1; ")
    try connection.execute(script: "")
    let rows = try connection.run(sql: "SELECT b FROM a")
    #expect(rows.count == 1)
    #expect(rows.int64(0, 0) == 2)
  }
}
#endif

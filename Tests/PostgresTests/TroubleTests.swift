#if PostgreSQL
import Foundation
import Postgres
import PostgresTesting
import Testing

@Suite(
  "A connection in trouble",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"))
struct TroubleTests {
  /// Waits until the server says that a statement gives true.
  private static func until(_ sql: String, _ connection: inout PostgresConnection) throws {
    while !(try connection.run(sql: sql).bool(0, 0)) {}
  }

  @Test("is lost when its backend is ended, and a new one can be made")
  func terminated() throws {
    let database = try TestDatabase.fresh()
    var connection = try database.connect()
    var other = try database.connect()
    let backend = connection.backend
    _ = try other.run(sql: "SELECT pg_terminate_backend($1, 5000)", [.int32(backend)])
    let error = connection.failure(of: "SELECT 1")
    #expect(error?.kind == .lost)
    #expect(error?.detail.isEmpty == false)
    let isUsable = connection.isUsable
    #expect(!isUsable)
    #expect(connection.failure(of: "SELECT 1")?.kind == .lost)
    #expect(throws: PostgresError.self) {
      var connection = try database.connect()
      try connection.execute(script: "SELECT pg_terminate_backend(pg_backend_pid())")
    }
    var next = try database.connect()
    #expect(try next.run(sql: "SELECT 1").int64(0, 0) == 1)
  }

  @Test(
    "a large write on an ended connection is lost, and ends nothing else", arguments: [true, false])
  func writtenAfterEnd(isSecure: Bool) throws {
    let database = try TestDatabase.fresh()
    let url = database.url.replacing("disable", with: isSecure ? "require" : "disable")
    var connection = try PostgresConnection(
      to: PostgresAddress(url: url, applicationName: "test"), connectTimeoutMs: 20_000,
      silenceMs: 20_000)
    var other = try database.connect()
    let backend = connection.backend
    _ = try other.run(sql: "SELECT pg_terminate_backend($1, 5000)", [.int32(backend)])
    let bytes = [UInt8](repeating: 1, count: 1 << 20)
    let commands = (0..<50).map { _ in PostgresCommand("SELECT length($1)", [.bytes(bytes)]) }
    #expect(connection.failure(of: commands)?.kind == .lost)
  }

  @Test("is lost when it is ended within a pipeline, and nothing of that is carried out")
  func terminatedWithin() throws {
    let database = try TestDatabase.fresh()
    var connection = try database.connect()
    try connection.execute(script: "CREATE TABLE a (b int8)")
    let error = connection.failure(of: [
      PostgresCommand("INSERT INTO a VALUES (1)"),
      PostgresCommand("SELECT pg_terminate_backend(pg_backend_pid())"),
      PostgresCommand("INSERT INTO a VALUES (2)"),
    ])
    #expect(error?.kind == .lost)
    #expect(error?.detail.contains("administrator command") == true)
    var next = try database.connect()
    #expect(try next.run(sql: "SELECT count(*) FROM a").int64(0, 0) == 0)
  }

  @Test("is lost when its backend has been silent for too long")
  func silent() throws {
    let database = try TestDatabase.fresh()
    var connection = try database.connect(silenceMs: 200)
    #expect(try connection.run(sql: "SELECT 1").int64(0, 0) == 1)
    let backend = connection.backend
    kill(backend, SIGSTOP)
    defer { kill(backend, SIGCONT) }
    let begin = ContinuousClock.now
    let error = connection.failure(of: "SELECT 1")
    #expect(ContinuousClock.now - begin >= .milliseconds(200))
    #expect(error?.kind == .lost)
    #expect(error?.detail == "nothing was heard of the server for 200 ms")
    #expect(error?.isOfSilence == true)
    let isUsable = connection.isUsable
    #expect(!isUsable)
  }

  @Test("is lost when its backend stops to read in the middle of a large pipeline")
  func stoppedReading() throws {
    let database = try TestDatabase.fresh()
    var connection = try database.connect(silenceMs: 200)
    let backend = connection.backend
    kill(backend, SIGSTOP)
    defer { kill(backend, SIGCONT) }
    let bytes = [UInt8](repeating: 1, count: 1 << 20)
    let commands = (0..<50).map { _ in PostgresCommand("SELECT length($1)", [.bytes(bytes)]) }
    #expect(connection.failure(of: commands)?.kind == .lost)
  }

  @Test("a statement that takes too long is ended by the server, and rejected")
  func slowStatement() throws {
    let database = try TestDatabase.fresh()
    let options = database.url + "%20-cstatement_timeout%3D50"
    var connection = try PostgresConnection(
      to: PostgresAddress(url: options, applicationName: "test"), connectTimeoutMs: 20_000,
      silenceMs: 20_000)
    let error = connection.failure(of: "SELECT pg_sleep(20)")
    #expect(error?.kind == .rejected)
    #expect(error?.sqlState == "57014")
    #expect(try connection.run(sql: "SELECT 1").int64(0, 0) == 1)
  }

  @Test("a commit whose standby is no longer waited for is unconfirmed")
  func unconfirmed() async throws {
    let database = try TestDatabase.fresh()
    var other = try database.connect(silenceMs: 120_000)
    try other.execute(script: "CREATE TABLE a (b int8)")
    let (backends, continuation) = AsyncStream.makeStream(of: Int32.self)
    let waiting = Task.detached { () -> PostgresError? in
      let url = database.url + "%20-csynchronous_commit%3Don"
      var connection = try PostgresConnection(
        to: PostgresAddress(url: url, applicationName: "test"), connectTimeoutMs: 20_000,
        silenceMs: 120_000)
      continuation.yield(connection.backend)
      continuation.finish()
      let error = connection.failure(of: "INSERT INTO a VALUES (1)")
      // It goes on, and the next transaction, which writes nothing, waits for no standby.
      _ = try connection.run(sql: "SELECT 1")
      return error
    }
    for await backend in backends {
      try Self.until(
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = \(backend) "
          + "AND wait_event = 'SyncRep')", &other)
      _ = try other.run(sql: "SELECT pg_cancel_backend(\(backend))")
    }
    let error = try await waiting.value
    #expect(error?.kind == .unconfirmed)
    #expect(error?.operation == "insert")
    #expect(try other.run(sql: "SELECT count(*) FROM a").int64(0, 0) == 1)
  }

  @Test("other warnings and notices mean nothing")
  func notices() throws {
    var connection = try TestDatabase.fresh().connect()
    let script = "DO $$ BEGIN RAISE WARNING 'the barometer falls'; RAISE NOTICE 'a'; END $$"
    try connection.execute(script: script)
    _ = try connection.run(sql: script)
    #expect(try connection.run(sql: "SELECT 1").int64(0, 0) == 1)
  }
}
#endif

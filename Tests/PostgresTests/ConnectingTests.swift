#if PostgreSQL
import Foundation
import Postgres
import PostgresTesting
import Testing

@Suite(
  "Connecting to a database",
  .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed: scripts/setup test"))
struct ConnectingTests {
  private static func serverURL(_ database: String = "postgres") throws -> String {
    try PostgresServer.shared.get().url(ofDatabase: database)
  }

  @Test("knows the server, and limits what it may do")
  func settings() throws {
    let database = try TestDatabase.fresh()
    var connection = try database.connect("the relay's own")
    let (version, backend, subject) = (
      connection.serverVersion, connection.backend, connection.subject
    )
    #expect(version >= 150_000)
    #expect(subject == "127.0.0.1:\(try PostgresServer.shared.get().port)/postgres")
    let rows = try connection.run(
      sql: """
        SELECT pg_backend_pid(), current_setting('statement_timeout'),
          current_setting('idle_in_transaction_session_timeout'), current_setting('lock_timeout'),
          current_setting('client_encoding'), current_setting('application_name'),
          current_setting('synchronous_commit'), current_schema()
        """)
    #expect(rows.int32(0, 0) == backend)
    #expect(
      (1..<8).map { rows.text(0, $0) } == [
        "5s", "2s", "1s", "UTF8", "the relay's own", "local", database.name,
      ])
  }

  @Test("a port where nobody listens is unreachable, and so is a name that nobody has")
  func unreachable() throws {
    for host in ["127.0.0.1:1", "nobody.invalid"] {
      let error = failure(ofConnectingTo: "postgresql://me:secret@\(host)/relay")
      #expect(error?.kind == .unreachable)
      #expect(error?.sqlState == nil)
      #expect(error?.description.contains("secret") == false)
    }
  }

  @Test("a listener that says nothing is unreachable after the time limit")
  func silent() throws {
    let listener = try FakeServer.listener()
    defer { close(listener.socket) }
    let error = failure(
      ofConnectingTo: "postgresql://me@127.0.0.1:\(listener.port)/relay", timeoutMs: 100)
    #expect(error?.kind == .unreachable)
    // A host gets what is left of the time once it is its turn.
    let told = error?.detail.split(separator: " ").map(String.init) ?? []
    #expect(told.dropLast(2) == ["127.0.0.1:\(listener.port)", "did", "not", "answer", "within"])
    #expect(told.count == 7 && Int(told[5]).map { (50...100).contains($0) } == true)
  }

  @Test("a host that says nothing does not keep from the one after it")
  func severalHosts() throws {
    let listener = try FakeServer.listener()
    defer { close(listener.socket) }
    let port = try PostgresServer.shared.get().port
    let hosts = "127.0.0.1:1,127.0.0.1:\(listener.port),127.0.0.1:\(port)"
    let address = try PostgresAddress(
      url: "postgresql://postgres@\(hosts)/postgres", applicationName: "test")
    var connection = try PostgresConnection(
      to: address, connectTimeoutMs: 5000, silenceMs: 20_000)
    #expect(try connection.run(sql: "SELECT 1").int64(0, 0) == 1)
    let error = failure(
      ofConnectingTo: "postgresql://postgres@127.0.0.1:1,127.0.0.1:\(port)/nothing")
    #expect(error?.kind == .denied)
    #expect(error?.subject == "127.0.0.1:1,127.0.0.1:\(port)/nothing")
  }

  @Test("begins with the host that it is told, and comes to those before it")
  func beginning() throws {
    let port = try PostgresServer.shared.get().port
    let hosts = "127.0.0.1:\(port),127.0.0.1:\(port),127.0.0.1:1"
    let address = try PostgresAddress(
      url: "postgresql://postgres@\(hosts)/postgres", applicationName: "test")
    let places = try (0..<3).map { first in
      try PostgresConnection(
        to: address, beginningWith: first, connectTimeoutMs: 5000, silenceMs: 20_000
      ).host
    }
    #expect(places == [0, 1, 0])
  }

  @Test("TLS is used if it is asked for, and then large pipelines do not stand still, either")
  func secure() throws {
    let server = try PostgresServer.shared.get()
    let url = server.url(ofDatabase: "postgres") + "?sslmode=verify-full&sslrootcert="
    let address = try PostgresAddress(url: url + server.certificate, applicationName: "test")
    var connection = try PostgresConnection(
      to: address, connectTimeoutMs: 20_000, silenceMs: 20_000)
    let isSecure = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    #expect(try connection.run(sql: isSecure).bool(0, 0))
    let body = [UInt8](repeating: 7, count: 100 << 10)
    let rows = try connection.run(
      (0..<200).map { _ in PostgresCommand("SELECT $1 || $1", [.bytes(body)]) })
    #expect(rows.count == 200)
    #expect(rows.allSatisfy { $0.bytes(0, 0) == body + body })
  }

  @Test("what somebody has to mend about TLS is a mistake, and no server that cannot be reached")
  func mistakesOfTLS() throws {
    let server = try PostgresServer.shared.get()
    let url = server.url(ofDatabase: "postgres")
    let named = "postgresql://postgres@localhost:\(server.port)/postgres"
    let trust = "&sslrootcert=" + server.certificate
    for (url, words) in [
      (url + "?sslmode=verify-full&sslrootcert=/dev/null", "root certificate file"),
      (url + "?sslmode=require&sslrootcert=/no/such.pem", "/no/such.pem, which sslrootcert names"),
      (url + "?sslmode=require&sslcert=/no/such.pem", "/no/such.pem, which sslcert names"),
      (named + "?sslmode=verify-full" + trust, "does not match host name"),
      (url + "?sslmode=verify-ca&sslrootcert=/etc/ssl/certs/ca-certificates.crt", "verify failed"),
    ] {
      let error = failure(ofConnectingTo: url)
      #expect(error?.kind == .invalid, "\(String(describing: error))")
      #expect(error?.detail.contains(words) == true, "\(String(describing: error))")
    }
    #expect(failure(ofConnectingTo: url + "?sslmode=disable&sslrootcert=/no/such.pem") == nil)
  }

  @Test("a database that is not there is a denial")
  func missingDatabase() throws {
    let error = failure(ofConnectingTo: try Self.serverURL("nothing"))
    #expect(error?.kind == .denied)
    #expect(error?.sqlState == "3D000")
    #expect(error?.operation == "connect")
  }

  @Test("a password is needed, is read from its file each time, and is never shown")
  func passwords() throws {
    let role = PostgresServer.roleWithPassword
    var connection = try TestDatabase.fresh().connect()
    try connection.execute(script: "CREATE ROLE \(role) LOGIN PASSWORD 'right one'")
    let port = try PostgresServer.shared.get().port
    func url(_ password: String) -> String {
      "postgresql://\(role)\(password)@127.0.0.1:\(port)/postgres"
    }
    #expect(failure(ofConnectingTo: url(":right%20one")) == nil)
    let wrong = failure(ofConnectingTo: url(":wr0ng"))
    #expect(wrong?.kind == .denied)
    #expect(wrong?.sqlState == "28P01")
    #expect(wrong?.description.contains("wr0ng") == false)
    #expect(failure(ofConnectingTo: url(""))?.kind == .denied)

    let file = NSTemporaryDirectory() + "waystation-password-\(UUID().uuidString)"
    #expect(failure(ofConnectingTo: url(""), passwordFile: file)?.kind == .invalid)
    for (content, kind) in [
      ("wr0ng\n", PostgresError.Kind.denied), ("right one\n", nil), ("right one", nil),
      ("", .invalid), ("\n", .invalid),
    ] {
      try content.write(toFile: file, atomically: true, encoding: .utf8)
      let error = failure(ofConnectingTo: url(":other"), passwordFile: file)
      #expect(error?.kind == kind)
      #expect(error?.description.contains("wr0ng") != true)
    }
    try FileManager.default.removeItem(atPath: file)
  }

  @Test("a server that is too old is refused")
  func tooOld() throws {
    let server = try FakeServer.ofVersion("14.9")
    let error = failure(
      ofConnectingTo: "postgresql://me@127.0.0.1:\(server.port)/a?sslmode=disable")
    #expect(error?.kind == .invalid)
    #expect(
      error?.detail == "127.0.0.1:\(server.port) is PostgreSQL 14, and 15 or later is needed")
  }
}
#endif

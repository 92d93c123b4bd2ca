#if PostgreSQL
import Foundation
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
  @Suite(
    "Trying the store of a configuration", .serialized, .ofDatabases,
    .enabled(if: TestDatabase.isInstalled, "PostgreSQL is not installed"))
  struct StoreTrials {
    private let folder: TemporaryFolder
    private let database: TestDatabase

    init() throws {
      folder = try TemporaryFolder()
      database = try TestDatabase.fresh()
    }

    private func check(
      _ url: String, passwordFile: String? = nil, _ arguments: String...
    ) async throws -> (ending: Ending, text: String) {
      var postgres = ["url": url]
      postgres["passwordFile"] = passwordFile
      let config: [String: any Sendable] = [
        "upstreams": ["default": ["url": "http://127.0.0.1:1"]], "store": ["postgres": postgres],
      ]
      try folder.write("config.json", String(decoding: Device.json(config), as: UTF8.self))
      let process = try ChildProcess(
        Waystation.path, ["check", "--config", folder.path + "/config.json"] + arguments)
      let ending = try await process.ending()
      return (ending, process.output + process.errors)
    }

    private func tables() throws -> Int64 {
      var connection = try database.connect()
      return try connection.run([
        PostgresCommand(
          "SELECT count(*) FROM pg_tables WHERE schemaname = $1", [.text(database.name)])
      ])[0].int64(0, 0)
    }

    @Test("an empty database can be used, and is empty afterwards; then its tables and its holder")
    func tried() async throws {
      let empty = try await check(database.url, "--try-store")
      #expect(empty.ending == .exit(0), "\(empty.text)")
      for words in [
        "in plain text, as the role postgres", "synchronous_commit is local",
        "makes them in the schema \(database.name)", "the store can be used",
      ] { #expect(empty.text.contains(words), "\(empty.text)") }
      #expect(try tables() == 0)

      let relay = try Relay(
        upstreams: ["default": ["url": "http://127.0.0.1:1"]],
        environment: ["WAYSTATION_POSTGRES_URL": database.url])
      try await relay.start()
      let held = try await check(database.url, "--try-store")
      #expect(held.ending == .exit(0), "\(held.text)")
      for words in ["its tables are there", "a relay at 127.0.0.1 has the store"] {
        #expect(held.text.contains(words), "\(held.text)")
      }
      relay.signal(SIGTERM)
      try await relay.ending()
      let left = try await check(database.url, "--try-store")
      #expect(left.text.contains("no relay has the store"), "\(left.text)")
    }

    @Test("of several hosts it is said which one was looked at, and what the others are")
    func hosts() async throws {
      let pair = try await onThread { try PostgresPair() }
      let (former, next) = (pair.ports[0], pair.ports[1])
      let whole = try await check(pair.url, "--try-store")
      #expect(whole.ending == .exit(0), "\(whole.text)")
      #expect(whole.text.contains("at 127.0.0.1:\(former), in plain text"), "\(whole.text)")
      #expect(whole.text.contains("127.0.0.1:\(next) is there as well, and only reads"))
      let twice = try await check(
        PostgresPair.url(by: [former, former]), "--try-store")
      #expect(twice.ending == .exit(0) && twice.text.contains("is the same server"))
      try await onThread {
        try pair.freezeWriter()
        try pair.promote()
        try pair.thawFormer()
      }
      let parted = try await check(pair.url, "--try-store")
      #expect(parted.ending == .exit(1))
      #expect(parted.text.contains("127.0.0.1:\(next) says that it writes, too"), "\(parted.text)")
    }

    @Test("tables that do not say what they are, and a database that only reads, cannot be used")
    func faults() async throws {
      let readOnly = try await check(
        database.url + "%20-cdefault_transaction_read_only%3Don", "--try-store")
      #expect(readOnly.ending == .exit(1))
      #expect(readOnly.text.contains("it only reads"), "\(readOnly.text)")
      var connection = try database.connect()
      try connection.execute(script: "CREATE TABLE seat ()")
      let strange = try await check(database.url, "--try-store")
      #expect(strange.ending == .exit(1))
      #expect(strange.text.contains("not their table schema_version"), "\(strange.text)")
    }

    @Test("one that cannot be reached, and files that are not there, are told in words")
    func unusable() async throws {
      let absent = try await check("postgresql://me:s3cret@127.0.0.1:1/x", "--try-store")
      #expect(absent.ending == .exit(1))
      #expect(absent.text.contains("cannot connect to 127.0.0.1:1/x: "), "\(absent.text)")
      #expect(absent.text.contains("Connection refused"), "\(absent.text)")
      #expect(!absent.text.contains("s3cret"))
      let password = try await check(database.url, passwordFile: "/no/such")
      #expect(password.ending == .exit(1))
      #expect(password.text.contains("/no/such cannot be opened"), "\(password.text)")
      let url = "postgresql://me@127.0.0.1:1/x?sslmode=verify-full&sslrootcert=/no/ca.pem"
      let authorities = try await check(url)
      #expect(authorities.ending == .exit(1))
      #expect(
        authorities.text.contains("/no/ca.pem, which sslrootcert names"), "\(authorities.text)")
      // It is no reason to wait at the start, either.
      let relay = try Relay(
        upstreams: ["default": ["url": "http://127.0.0.1:1"]],
        environment: ["WAYSTATION_POSTGRES_URL": url])
      try relay.begin()
      #expect(try await relay.ending() == .exit(1))
      #expect(relay.log.contains("/no/ca.pem, which sslrootcert names"), "\(relay.log)")
    }
  }
}
#endif

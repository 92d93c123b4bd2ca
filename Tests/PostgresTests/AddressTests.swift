#if PostgreSQL
import Postgres
import Testing

@Suite("The address of a database")
struct AddressTests {
  private static func subject(_ url: String) throws(PostgresError) -> String {
    try PostgresAddress(url: url, applicationName: "test").subject
  }

  @Test(
    "says where the database is, and never a password",
    arguments: [
      ("postgresql://me:secret@db.example/relay", "db.example:5432/relay"),
      ("postgres://me@db.example:6432/relay?password=secret", "db.example:6432/relay"),
      ("postgresql://me:s%40e%2Fcret@[::1]/relay", "[::1]:5432/relay"),
      ("postgresql://a,b:2/relay?target_session_attrs=read-write", "a:5432,b:2/relay"),
      ("postgresql://me@a:1,b:2/relay", "a:1,b:2/relay"),
      ("postgresql:///relay?host=/run/postgresql", "/run/postgresql:5432/relay"),
      ("postgresql://me@db.example", "db.example:5432/me"),
      ("postgresql:///relay", "the default host:5432/relay"),
    ])
  func subjects(url: String, subject: String) throws {
    #expect(try Self.subject(url) == subject)
    let address = try PostgresAddress(url: url, applicationName: "test")
    for text in ["\(address)", String(reflecting: address), String(describing: address)] {
      #expect(!text.contains("cret"))
    }
    var dumped = ""
    dump(address, to: &dumped)
    #expect(!dumped.contains("cret"))
  }

  @Test(
    "is refused without a word of it, if it cannot be read",
    arguments: [
      "", "db.example", "host=db.example password=secret", "https://me:secret@db.example",
      "postgresql://me:sec@ret@db.example/relay", "postgresql://me:sec/ret@db.example/relay",
      "postgresql://me:sec%zzret@db.example/relay", "postgresql://me:secret@db.example:port/relay",
      "postgresql://me:secret@db.example:70000/relay", "postgresql://me:secret@[::1/relay",
      "postgresql://me:secret@db.example/relay?sec=ret",
      "postgresql://me:secret@/relay?host=a,b&port=1,2,3",
      "postgresql://me:secret@[::1]x/relay", "postgresql://me:sec%00ret@db.example/relay",
      "postgresql://me:secret@db.example/relay?password",
      "postgresql://me:secret@db.example/relay?sslmode=secret",
      "postgresql://me:secret@db.example/relay?target_session_attrs=secret",
      "postgresql://me:secret@db.example/relay?ssl_min_protocol_version=secret",
      "postgresql://me:secret@db.example/relay?service=secret",
    ])
  func refused(url: String) throws {
    let error = try #require(throws: PostgresError.self) { try Self.subject(url) }
    #expect(error.kind == .invalid)
    #expect(error.operation == "read")
    #expect(!error.detail.isEmpty)
    for part in ["sec", "ret", "db.example", "port/"] {
      #expect(!error.description.contains(part), "\(error)")
    }
  }
}
#endif

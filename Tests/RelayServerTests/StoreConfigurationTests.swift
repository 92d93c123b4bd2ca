#if PostgreSQL
import RelayServer
import Testing

@Suite("Where the store is, as configured")
struct StoreConfigurationTests {
  private func file(_ members: String) -> String {
    #"{"upstreams": {"a": {"url": "http://x"}}, \#(members)}"#
  }

  @Test(
    "a database that cannot be meant is refused, and no part of its URL is shown",
    arguments: [
      (#"{}"#, "store.postgres.url: is missing: it says where the database is"),
      (
        #"{"url": "mysql://u:s3cret@h/d"}"#,
        "store.postgres.url: is no URL of a database: it does not begin with postgresql://"
      ),
      (
        #"{"url": "postgresql://u:s3cret@h@i/d"}"#,
        "store.postgres.url: is no URL of a database: write @ as %40 and / as %2F in a name or a"
          + " password"
      ),
      (
        #"{"url": "postgresql://u:s3cret@h/d?sslmod=require"}"#,
        "store.postgres.url: is no URL of a database: invalid URI query parameter"
      ),
      (
        #"{"url": "postgresql://u:s3cret@h/d?sslmode=verify_full"}"#,
        "store.postgres.url: is no URL of a database: invalid sslmode value; it is disable, allow,"
          + " prefer, require, verify-ca or verify-full"
      ),
      (
        #"{"url": "postgresql://h/d", "durability": "strict"}"#,
        "store.postgres.durability: expected \"quorum\", \"managed\" or \"local\" but found"
          + " \"strict\""
      ),
      (
        #"{"url": ""}"#,
        "store.postgres.url: expected a URL such as `postgresql://waystation@db.example.com/"
          + "waystation`, but found something else"
      ),
    ])
  func refused(postgres: String, problem: String) {
    #expect(problems(file(#""store": {"postgres": \#(postgres)}"#)) == [problem])
  }

  @Test("a data folder beside it in the file is refused, and one of a variable gives way")
  func dataFolder() throws {
    let postgres = #""store": {"postgres": {"url": "postgresql://h/d"}}"#
    #expect(
      problems(file(#""data": "/d", "# + postgres)) == [
        #"data: does not go with "store.postgres", which is where the store is; leave one out"#
      ])
    let loaded = try loadConfiguration(
      file(postgres), environment: ["WAYSTATION_DATA": "/d"]
    ).get()
    #expect(loaded.shownStore == "postgresql://h:5432/d")
    #expect(loaded.unusedData == "/d")
    #expect(try loadConfiguration(file(postgres)).get().unusedData == nil)
    #expect(try loadConfiguration(file(#""data": "/d""#)).get().unusedData == nil)
  }

  @Test("a variable names it, in the file's place, and is refused under its own name")
  func variable() throws {
    let name = "WAYSTATION_POSTGRES_URL"
    let text = file(
      #""store": {"postgres": {"url": "postgresql://h/d", "passwordFile": "/p"}}"#)
    let loaded = try loadConfiguration(
      text, environment: [name: "postgresql://u:s3cret@i:99/e"]
    ).get()
    #expect(loaded.shownStore == "postgresql://i:99/e")
    #expect(loaded.store.postgres?.passwordFile == "/p")
    #expect(!"\(loaded)".contains("s3cret"))
    #expect(
      problems(text, environment: [name: "postgresql:s3cret"]) == [
        "\(name): is no URL of a database: it does not begin with postgresql://"
      ])
  }

  @Test("a variable may name the database whose password's file stands in the file")
  func passwordFile() throws {
    let text = file(#""store": {"postgres": {"passwordFile": "/p"}}"#)
    let loaded = try loadConfiguration(
      text, environment: ["WAYSTATION_POSTGRES_URL": "postgresql://u@i:99/e"]
    ).get()
    #expect(loaded.shownStore == "postgresql://i:99/e")
    #expect(loaded.store.postgres?.passwordFile == "/p")
    #expect(problems(text) == ["store.postgres.url: is missing: it says where the database is"])
  }
}
#endif

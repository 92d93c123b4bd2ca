import RelayServer
import Testing

@Suite("Receipts, as configured")
struct ReceiptsConfigurationTests {
  private func file(_ members: String) -> String {
    #"{"upstreams": {"a": {"url": "http://x"}}, \#(members)}"#
  }

  @Test("there are none without the section, and their keys lie in the data folder by default")
  func defaults() throws {
    let none = try loadConfiguration(file(#""data": "/d""#)).get()
    #expect(none.receipts == nil && none.receiptKeysFolder == nil)
    let some = try loadConfiguration(
      file(#""data": "/d", "receipts": {"issuer": "https://relay.example/a"}"#)
    ).get()
    #expect(some.receipts?.issuer == "https://relay.example/a")
    #expect(some.receiptKeysFolder == "/d/receipt-keys")
    let elsewhere = try loadConfiguration(
      file(#""receipts": {"issuer": "http://r", "keys": "/k"}"#)
    ).get()
    #expect(elsewhere.receiptKeysFolder == "/k")
  }

  @Test(
    "an issuer is a URL without a query, a fragment or a user",
    arguments: [
      #""relay""#, #""ftp://r""#, #""https://r?a=b""#, #""https://r#a""#, #""https://u:p@r""#,
      #""""#, "1", "null",
    ])
  func issuer(value: String) {
    let found = problems(file(#""receipts": {"issuer": \#(value)}"#))
    #expect(
      found.count == 1 && found[0].hasPrefix("receipts.issuer: expected an http or https URL"),
      "\(found)")
  }

  @Test("an issuer is required")
  func noIssuer() {
    let found = problems(file(#""receipts": {"keys": "/k"}"#))
    #expect(
      found.count == 1 && found[0].hasPrefix("receipts.issuer: expected")
        && found[0].hasSuffix("found nothing"), "\(found)")
  }

  #if PostgreSQL
  @Test("relays that share a database have to name the folder of the keys")
  func shared() {
    let store = #""store": {"postgres": {"url": "postgresql://h/d"}}"#
    let found = problems(file(store + #", "receipts": {"issuer": "https://r"}"#))
    #expect(
      found == [
        #"receipts.keys: is missing: with "store.postgres" there is no data folder that could hold"#
          + " the keys; name a folder"
      ])
    #expect(
      problems(file(store + #", "receipts": {"issuer": "https://r", "keys": "/k"}"#)) == [])
  }
  #endif
}

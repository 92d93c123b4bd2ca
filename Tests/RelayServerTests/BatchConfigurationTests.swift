import Testing

@testable import RelayServer

@Suite("The configuration of envelopes that go together")
struct BatchConfigurationTests {
  @Test("each mistake is told with its key, what was expected and what stands there")
  func mistakes() {
    let found = problems(
      #"""
      {"upstreams": {"a": {"url": "http://x", "ambiguous": "block", "batch": {"format": "xml",
       "path": "ingest", "from": ["/a?b"], "itemsMax": 0}},
       "b": {"url": "http://x", "ambiguous": "block", "batch": {"format": "json"}},
       "c": {"url": "http://x", "batch": {"path": "/x"}}}}
      """#)
    #expect(
      found == [
        #"upstreams.a.batch.format: expected "ndjson" or "json" but found "xml""#,
        "upstreams.a.batch.path: expected a path with its query, from the leading `/` but found"
          + " \"ingest\"",
        "upstreams.a.batch.from: expected an array of paths, each from the leading \"/\" and"
          + " without a query but found [\"/a?b\"]",
        "upstreams.a.batch.itemsMax: expected a whole number from 1 to 10000 but found 0",
        #"upstreams.c.batch.format: expected "ndjson" or "json" but found nothing"#,
        "upstreams.b.batch: envelopes go together only with \"ambiguous\": \"retry\"",
      ])
  }
}

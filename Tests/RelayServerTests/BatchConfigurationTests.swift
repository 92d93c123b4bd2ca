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
       "c": {"url": "http://x", "batch": {"path": "/x"}},
       "d": {"url": "http://x", "batch": {"format": "waystation", "path": "/x",
        "results": "required"}},
       "e": {"url": "http://x", "batch": {"format": "json", "upstream": "f"}}}}
      """#)
    #expect(
      found == [
        #"upstreams.a.batch.format: expected "ndjson", "json" or "waystation" but found "xml""#,
        "upstreams.a.batch.path: expected a path with its query, from the leading `/` but found"
          + " \"ingest\"",
        "upstreams.a.batch.from: expected an array of paths, each from the leading \"/\" and"
          + " without a query but found [\"/a?b\"]",
        "upstreams.a.batch.itemsMax: expected a whole number from 1 to 10000 but found 0",
        #"upstreams.c.batch.format: expected "ndjson", "json" or "waystation" but found nothing"#,
        "upstreams.b.batch: envelopes go together only with \"ambiguous\": \"retry\"",
        "upstreams.d.batch: a relay takes all envelopes in one place: leave out path and from",
        "upstreams.d.batch.results: a relay answers with results always: leave it out",
        "upstreams.e.batch.upstream: it is meant for the format \"waystation\" alone",
      ])
  }
}

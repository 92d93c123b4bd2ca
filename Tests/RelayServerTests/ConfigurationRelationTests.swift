import RelayServer
import Testing

@Suite("Keys that belong together")
struct ConfigurationRelationTests {
  @Test("a path for news is refused where no upstream is told them")
  func notify() {
    let found = problems(#"{"upstreams": {"a": {"url": "http://x"}}, "notify": {"path": "/told"}}"#)
    #expect(found == [#"notify.path: goes with "notify.upstream": without it nobody is told"#])
  }

  @Test("a burst is refused where there is no rate that it could belong to")
  func burst() {
    let found = problems(#"{"upstreams": {"a": {"url": "http://x", "burst": 5}}}"#)
    #expect(
      found == [
        #"upstreams.a.burst: goes with "requestsPerSecondMax", the rate that it belongs to"#
      ])
  }
}

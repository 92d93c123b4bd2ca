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

  @Test("an attempt's time that is less than a connection's says that this is the default")
  func connecting() {
    let found = problems(#"{"upstreams": {"a": {"url": "http://x", "attemptTimeoutMs": 2000}}}"#)
    #expect(
      found == [
        "upstreams.a.connectTimeoutMs: must not be above upstreams.a.attemptTimeoutMs:"
          + " 10000 (the default) is above 2000"
      ])
  }
}

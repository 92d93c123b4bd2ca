import JSON
import RelayCore

/// The state of the upstreams for operators (`Upstreams` in `openapi.yaml`).
package struct UpstreamsView: Sendable {
  /// An upstream, by its configuration and by what the dispatcher knows.
  struct Configured: Sendable {
    var name: String
    var url: String
    var view: Scheduler.UpstreamView
    var nextProbeAt: WallTime?
    var heldUntil: WallTime?
  }

  /// An upstream that is not configured any more, and that something waits for.
  struct Unconfigured: Sendable {
    var name: String
    var view: Scheduler.UnconfiguredView
  }

  /// In the order of the configuration.
  var configured: [Configured]
  var unconfigured: [Unconfigured]

  /// The JSON that is answered.
  func json() -> [UInt8] {
    var json = JSONWriter()
    json.object { write(to: &$0) }
    return json.finish()
  }

  /// One of them as ``json()`` has it; nil if there is none of this name.
  func json(upstream name: String) -> [UInt8]? {
    var json = JSONWriter()
    if let upstream = configured.first(where: { $0.name == name }) {
      upstream.write(to: &json)
    } else if let upstream = unconfigured.first(where: { $0.name == name }) {
      upstream.write(to: &json)
    } else {
      return nil
    }
    return json.finish()
  }

  /// Writes them as a member of an object.
  func write(to json: inout JSONWriter) {
    json.memberArray("upstreams") { json in
      for upstream in configured { upstream.write(to: &json) }
      for upstream in unconfigured { upstream.write(to: &json) }
    }
  }
}

extension UpstreamsView.Configured {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("name", name)
      json.member("url", url)
      json.member("configured", true)
      json.member("reachable", view.isReachable)
      json.member("paused", view.isPaused)
      json.member("since", view.since)
      json.member("inFlight", view.inFlight)
      json.member("waiting", view.waiting)
      json.member("oldestWaitingAt", view.oldestWaitingAt)
      if let error = view.lastError { json.member("lastError", error) }
      if !view.isReachable { json.member("nextProbeAt", nextProbeAt) }
      json.member("concurrencyNow", view.concurrency.now)
      json.member("concurrencyMax", view.concurrency.max)
      json.member("heldUntil", heldUntil)
      if let reason = view.heldReason { json.member("heldReason", reason) }
      if let rate = view.perSecond {
        json.member("requestsPerSecondNow", max(0.0001, (rate * 10_000).rounded() / 10_000))
        json.member("requestsPerSecondLearned", view.isPerSecondLearned)
      }
    }
  }
}

extension UpstreamsView.Unconfigured {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("name", name)
      json.member("configured", false)
      json.member("reachable", false)
      json.member("paused", false)
      json.member("inFlight", 0)
      json.member("waiting", view.waiting)
      if let oldest = view.oldestWaitingAt { json.member("oldestWaitingAt", oldest) }
      json.member("concurrencyNow", 0)
      json.member("concurrencyMax", 0)
    }
  }
}

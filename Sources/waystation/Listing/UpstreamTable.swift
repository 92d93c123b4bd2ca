import JSON
import RelayCore

/// A table of upstreams.
enum UpstreamTable {
  /// - Parameter told: Upstreams whose errors are told above, and not once more here.
  static func lines(
    _ upstreams: [JSONObject], _ terminal: Terminal, _ now: WallTime, told: Set<String> = []
  ) -> [String] {
    var table = TextTable(
      "UPSTREAM", "STATE", "FOR", "#WAITING", "OLDEST", "#IN FLIGHT", "LAST ERROR")
    for upstream in upstreams {
      let (state, style) = state(upstream, now)
      let isPast = upstream.has("reachable") && upstream.number("waiting") == 0
      let error = upstream.text("heldReason") ?? (isPast ? nil : upstream.text("lastError"))
      table.add(
        .init(upstream.text("name"), .bold), .init(state, style),
        .init(HumanText.age(upstream.text("since"), now: now)),
        .init(HumanText.count(upstream.number("waiting"))),
        .init(HumanText.age(upstream.text("oldestWaitingAt"), now: now)),
        .init("\(upstream.number("inFlight"))/\(upstream.number("concurrencyNow"))"),
        .init(error.map { told.contains(upstream.text("name") ?? "") ? "see above" : $0 }))
    }
    return table.isEmpty ? ["no upstreams"] : table.lines(on: terminal)
  }

  private static func state(
    _ upstream: JSONObject, _ now: WallTime
  ) -> (String, Terminal.Style) {
    if !upstream.has("configured") { return ("not configured", .warning) }
    if upstream.has("paused") { return ("paused", .warning) }
    if upstream.has("reachable") {
      let wait = HumanText.wait(upstream.text("heldUntil"), now: now)
      guard wait.isEmpty else { return ("wants a wait, goes on \(wait)", .warning) }
      let pace = upstream.decimal("requestsPerSecondNow")
      guard pace > 0 else { return ("reachable", .good) }
      let learned = upstream.has("requestsPerSecondLearned") ? " (learned)" : ""
      return ("reachable, \(HumanText.rate(pace)) at most\(learned)", .good)
    }
    let probe = HumanText.wait(upstream.text("nextProbeAt"), now: now)
    guard probe.isEmpty else { return ("unreachable, probe \(probe)", .bad) }
    let isTried = upstream.number("inFlight") > 0
    return ("unreachable, " + (isTried ? "being tried" : "tried with the next envelope"), .bad)
  }
}

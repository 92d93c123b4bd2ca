import JSON
import RelayCore

extension RelayEvent {
  /// The data of the event (`Event` in `openapi.yaml`).
  package func json() -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("at", at)
      if let id { json.member("id", id.description) }
      if let client { json.member("client", client) }
      if let lane { json.member("lane", lane) }
      if let upstream { json.member("upstream", upstream) }
      if let state { json.member("state", state.rawValue) }
      if let attempt { json.member("attempt", attempt) }
      if let status { json.member("status", status) }
      if let reason { json.member("reason", reason) }
      if state == .queued { json.member("nextAttemptAt", dueAt) }
      writeNumbers(to: &json)
    }
    return json.finish()
  }

  /// What each kind calls its own numbers.
  private func writeNumbers(to json: inout JSONWriter) {
    switch kind {
    case .gapSkipped:
      guard numbers.count == 2 else { return }
      json.member("first", numbers[0])
      json.member("last", numbers[1])
    case .accepted, .attempted, .blocked, .delivered, .failed, .expired, .cancelled, .released,
      .edited, .requeued, .placed, .coalesced, .paused, .resumed, .unreachable, .reachable,
      .started:
      break
    }
  }
}

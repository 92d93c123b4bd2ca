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

  /// The kind's own numbers, by the names of its record.
  private func writeNumbers(to json: inout JSONWriter) {
    let names = kind.record.numbers
    guard names.count == numbers.count else { return }
    for (name, number) in zip(names, numbers) { json.member(name, number) }
  }
}

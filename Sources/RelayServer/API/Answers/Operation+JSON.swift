import JSON
import RelayCore

extension Operation {
  /// Writes the operation's members (`Operation` in `openapi.yaml`).
  func writeMembers(to json: inout JSONWriter) {
    json.member("id", String(number))
    json.member("action", action.rawValue)
    json.memberObject("filter") { filter.writeMembers(to: &$0) }
    if action == .replay { json.member("idempotencyKeys", hasFreshKeys ? "fresh" : "same") }
    json.member("who", who)
    json.member("startedAt", startedAt)
    json.member("matched", matched)
    if hasMore { json.member("more", true) }
    json.member("done", done)
    json.member("failed", failed)
    json.member("state", state.rawValue)
    json.member("endedAt", endedAt)
    guard !refusals.isEmpty else { return }
    json.memberArray("problems") { json in
      for refusal in refusals { json.object { refusal.writeMembers(to: &$0) } }
    }
  }

  /// It alone.
  func json() -> [UInt8] {
    var json = JSONWriter()
    json.object { writeMembers(to: &$0) }
    return json.finish()
  }
}

extension Operation.Refusal {
  fileprivate func writeMembers(to json: inout JSONWriter) {
    let kind = ProblemKind(rawValue: problem)
    json.member("type", kind?.type ?? problem)
    json.member("title", kind?.title ?? problem)
    json.member("count", count)
    json.member("example", example.description)
  }
}

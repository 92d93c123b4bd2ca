import JSON
import RelayCore

extension AttemptProgress {
  /// Writes it as a member (`AttemptProgress` in `openapi.yaml`).
  func write(to json: inout JSONWriter) {
    json.memberObject("progress") { json in
      json.member("startedAt", startedAt)
      json.member("sentBytes", sentBytes)
      json.member("bodyBytes", bodyBytes)
      json.member("receivedBytes", receivedBytes)
    }
  }
}

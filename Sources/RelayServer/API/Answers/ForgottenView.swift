import JSON
import RelayCore

/// What a listener is told that has been away for too long (`ForgottenEvent` in `openapi.yaml`).
struct ForgottenView {
  /// When it is told.
  let at: WallTime
  /// What it has seen last.
  let lastSeen: EventID
  /// The place from which on everything is kept.
  let first: EventID

  /// The data of the event.
  func json() -> [UInt8] {
    var json = JSONWriter()
    json.object { json in
      json.member("at", at)
      json.member("lastSeen", lastSeen.description)
      json.member("keptFrom", first.description)
    }
    return json.finish()
  }
}

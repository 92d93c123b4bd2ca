import JSON
import RelayCore

/// The event for a listener that was away for too long (`ForgottenEvent` in `openapi.yaml`).
struct ForgottenView {
  /// The time of the event.
  let at: WallTime
  /// The last event that the listener has seen.
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

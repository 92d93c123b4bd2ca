import JSON
import RelayCore

/// How an envelope was taken, as its sender is told (`Acceptance` in `openapi.yaml`).
package struct Acceptance: Sendable, Equatable {
  /// Whether it was stored before under the same key.
  package var isDuplicate: Bool
  /// The relay's name for it.
  package var id: EnvelopeID
  /// Who sent it.
  package var client: String
  /// The lane that it stands in.
  package var lane: String
  /// The sender's own name for it.
  package var key: String?
  /// Where it is.
  package var state: EnvelopeState
  /// Its place in its lane, from 1; nil once it has ended, and for a duplicate.
  package var position: Int?

  /// The path to ask for it at.
  package var location: String { "/v1/envelopes/\(id)" }

  /// The JSON that the sender is answered.
  package func json() -> [UInt8] {
    var buffer: [UInt8] = []
    buffer.reserveCapacity(256)
    var json = JSONWriter(appendingTo: buffer)
    json.object { json in
      json.member("result", isDuplicate ? "duplicate" : "accepted")
      json.member("id", id.description)
      json.member("client", client)
      json.member("lane", lane)
      if let key { json.member("key", key) }
      json.member("state", state.rawValue)
      if let position { json.member("position", position) }
    }
    return json.finish()
  }
}

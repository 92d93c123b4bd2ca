import JSON
import RelayCore

/// The answer to a post that was taken (`Acceptance` in `openapi.yaml`).
package struct Acceptance: Sendable, Equatable {
  /// The result of the post.
  package var result: PostResult
  /// The relay's name for it; nil for a void number, and for a duplicate of one that is not kept
  /// any more.
  package var id: EnvelopeID?
  /// The client that sent it.
  package var client: String
  /// The lane that it stands in.
  package var lane: String
  /// The sender's own name for it.
  package var key: String?
  /// Its number in its lane, which is not told; nil if it was posted without one.
  package var sequence: Int64?
  /// Its state; nil if that is not known any more.
  package var state: EnvelopeState?
  /// Its place in its lane, from 1; nil once it has ended, and for a duplicate.
  package var position: Int?
  /// Why it stands so, where it was waited for in vain; nil for no reason.
  package var reason: String?
  /// The sequence numbers that it waits for, if it is parked.
  package var missing = MissingNumbers.none

  /// The receipt of its lane, if one was asked for and made.
  package var receipt: ReceiptView?

  /// The path to ask for it at; nil if there is nothing to ask for any more.
  package var location: String? { id.map { $0.description(behind: "/v1/envelopes/") } }

  /// The JSON that the sender is answered.
  package func json() -> [UInt8] {
    var json = JSONWriter(reserving: 256)
    json.object { json in
      json.member("result", result.rawValue)
      if let id { json.member("id", id.description) }
      json.member("client", client)
      json.member("lane", lane)
      if let key { json.member("key", key) }
      if let state { json.member("state", state.rawValue) }
      if let position { json.member("position", position) }
      if let reason { json.member("reason", reason) }
      json.member(missing)
      if let receipt {
        json.name("receipt")
        receipt.write(to: &json)
      }
    }
    return json.finish()
  }
}

import Foundation
import Testing

/// A client `a` with envelopes in every state, and a client `b` that asks for them.
struct Stranger {
  /// Something of a's, or nothing.
  struct Thing: CustomStringConvertible {
    var state: String
    var id: String
    var key: String
    var client: String

    var description: String { state }
  }

  let relay: Relay
  /// Asks with b's token.
  let device: Device
  /// Of a's, one in each state.
  let things: [Thing]
  /// What there is not: the same for everything.
  let nothing = Thing(
    state: "nothing", id: "019f0000-0000-7000-8000-000000400000", key: "key-0", client: "nobody")
  private let token: String

  init(_ relay: Relay) async throws {
    self.relay = relay
    let own = relay.device("a", token: try await relay.token(["client": "a"]).text)
    let made = try await relay.token(["client": "b"])
    token = made.id
    device = relay.device("b", token: made.text)
    // Known to the relay, so that its own client is no unknown one.
    _ = try await device.post(["path": "/b", "hold": true])
    var things: [Thing] = []
    let wanted: [(state: String, lane: String, envelope: [String: any Sendable])] = [
      ("delivered", "fine", ["path": "/yes"]),
      ("failed", "failed", ["path": "/no"]),
      ("blocked", "blocked", ["path": "/no", "onFailure": "block"]),
      ("queued", "blocked", ["path": "/yes"]),
      ("held", "held", ["path": "/yes", "hold": true, "coalesce": "key-held"]),
      ("parked", "numbered", ["path": "/yes", "sequence": 7]),
    ]
    for (state, lane, envelope) in wanted {
      let key = "key-\(state)"
      let posted = try await own.post(
        envelope.merging(["lane": lane, "key": key]) { given, _ in given })
      let id = try #require(try posted.json()["id"] as? String, "\(posted)")
      if ["delivered", "failed", "blocked"].contains(state) { _ = try await own.end(of: id) }
      let shown = try await own.get("/v1/envelopes/\(id)").json()
      try #require(shown["state"] as? String == state)
      things.append(Thing(state: state, id: id, key: key, client: "a"))
    }
    self.things = things
  }

  /// Everything that is stored, as an operator sees it.
  func whole() async throws -> String {
    try await relay.reading.get("/v1/envelopes?limit=200").text
  }

  /// What b is answered about something, with what it asked for left out.
  func answer(
    _ method: String, _ call: EndToEnd.Access.Call, _ thing: Thing
  ) async throws -> String {
    func about(_ text: String) -> String {
      text.replacingOccurrences(of: "CLIENT", with: thing.client)
        .replacingOccurrences(of: "ID", with: thing.id)
        .replacingOccurrences(of: "KEY", with: thing.key)
        .replacingOccurrences(of: "TOKEN", with: token)
    }
    var headers = call.headers.mapValues(about)
    if call.body != nil, headers["Content-Type"] == nil {
      headers["Content-Type"] = "application/json"
    }
    let answer = try await device.request(
      method, about(call.target), headers: headers, body: call.body.map { Array(about($0).utf8) })
    var fields = answer.message.fields.filter {
      !["date", "content-length"].contains($0.name.lowercased())
    }
    .map { "\($0.name): \($0.value)" }
    fields.sort()
    let text = answer.text.replacingOccurrences(of: thing.id, with: "ID")
      .replacingOccurrences(of: "\\\"\(thing.client)\\\"", with: "CLIENT")
      .replacingOccurrences(of: "\"\(thing.client)\"", with: "CLIENT")
      .replacingOccurrences(of: thing.key, with: "KEY")
    return "\(answer.status) \(fields) \(text)"
  }
}

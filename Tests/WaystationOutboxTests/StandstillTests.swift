import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

import struct RelayCore.StoreError

@Suite("Answers after which all stands as before", .timeLimit(.minutes(5)))
struct StandstillTests {
  @Test("such as void for an item, are followed by a pause")
  func void() async throws {
    let stand = try await Stand { settings in
      settings.transport = Answers { _ in
        let json = #"{"results":[{"result":"void"}],"lanes":[],"ended":[],"maySend":{}}"#
        return Response(
          status: 200, headers: [("Content-Type", "application/json")], body: Array(json.utf8))
      }
    }
    let events = stand.outbox.events()
    let id = try await stand.outbox.enqueue(Request("POST", "/a"))
    let reason = await events.first { event -> String? in
      if case .limited(_, let reason) = event { reason } else { nil }
    }
    #expect(reason == "the relay does not say what became of what was sent")
    #expect(await stand.outbox.item(id)?.isOver == false)
    await stand.outbox.close()
  }

  @Test(
    "such as an upload that comes no further, are followed by a pause",
    arguments: ["500", "0", "-7"])
  func upload(offset: String) async throws {
    let stand = try await Stand { settings in
      settings.sending.uploadBytes = 100
      settings.transport = Answers { exchange in
        let isNew = exchange.method == "POST"
        let place = isNew ? [("Location", "/v1/uploads/1")] : []
        return Response(
          status: isNew ? 201 : 204, headers: place + [("Upload-Offset", isNew ? "0" : offset)],
          body: [])
      }
    }
    let events = stand.outbox.events()
    try await stand.outbox.enqueue(Request("POST", "/a", .bytes(.zeros(500), type: "x/y")))
    let failure = await events.first { event -> ConnectionFailure? in
      if case .unreachable(let failure) = event { failure } else { nil }
    }
    #expect(failure != nil)
    await stand.outbox.close()
  }

  @Test("such as the refusal of a since that the relay does not know, are no item's fault")
  func since() async throws {
    let relay = ScriptedRelay()
    let stand = try await Stand { settings in
      settings.startPaused = true
      settings.transport = Answers { exchange async throws(ConnectionFailure) in
        guard case .bytes(let bytes) = exchange.body,
          String(decoding: bytes, as: UTF8.self).contains(#""since":"q""#)
        else { return try await relay.send(exchange) { _ in } }
        let json = """
          {"type": "urn:waystation:problem:invalid-field", "status": 422, "field": "/since", \
          "detail": "since is none"}
          """
        return Response(
          status: 422, headers: [("Content-Type", "application/problem+json")],
          body: Array(json.utf8))
      }
    }
    try await stand.outbox.store.run(changes: false) { core, _ throws(StoreError) in
      core.state.since = "q"
      try core.file.set(.since, "q")
    }
    let ids = try await stand.outbox.enqueue((1...3).map { (Request("POST", "/\($0)"), Options()) })
    try await stand.outbox.resume()
    for id in ids { #expect(try await stand.ending(of: id).word == "delivered") }
    await stand.outbox.close()
  }
}

/// Somebody who answers in the relay's place.
private struct Answers: Transport {
  let answer: @Sendable (Exchange) async throws(ConnectionFailure) -> Response

  func send(
    _ exchange: Exchange, progress: @escaping @Sendable (Progress) -> Void
  ) async throws(ConnectionFailure) -> Response { try await answer(exchange) }
}

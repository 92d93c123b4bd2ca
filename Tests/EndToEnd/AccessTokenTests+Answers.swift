import Compression
import Dispatch
import Foundation
import Glibc
import Testing

// What upstreams answer to attempts with tokens.
extension EndToEnd.AccessTokens {
  @Test(
    "a 401 to what was under way at a reload is no refusal: it goes again by the new settings")
  func rejectedAcrossReload() async throws {
    let stand = try TokenStand(lifetimeSeconds: 3600)
    try await stand.relay.start()
    let device = stand.relay.device()
    #expect(try await device.relay("GET", "/1", headers: ["Prefer": "wait=20"]).status == 200)
    stand.revokeAll()
    let isReloaded = DispatchSemaphore(value: 0)
    let stillValid = stand.validity
    stand.service.behave { request in
      isReloaded.wait()
      isReloaded.signal()
      return .answer(stillValid(request) ? 200 : 401)
    }
    var ids: [String] = []
    for number in 0..<3 {
      let posted = try await device.post([
        "path": "/\(number)", "method": "GET", "lane": "l-\(number)",
      ])
      ids.append(try #require(posted.json()["id"] as? String))
    }
    _ = try await stand.service.received(count: 2)
    let before = stand.relay.log
    try stand.configure(secret: "another-secret-of-the-relay")
    stand.relay.signal(SIGHUP)
    try await eventually("the reload") {
      stand.relay.log.count > before.count && stand.relay.log.contains("reload") ? true : nil
    }
    isReloaded.signal()
    for id in ids { #expect(try await device.end(of: id)["state"] as? String == "delivered") }
  }

  @Test("a lifetime of nothing is none that is stated: not each attempt fetches a token")
  func noLifetime() async throws {
    let stand = try TokenStand(lifetimeSeconds: 3600)
    let answer = #"{"access_token": "t-1", "token_type": "bearer", "expires_in": 0}"#
    stand.server.behave { _ in .answer(200, body: Array(answer.utf8)) }
    stand.service.behave { _ in .answer(200) }
    try await stand.relay.start()
    let device = stand.relay.device()
    for number in 0..<5 {
      let answer = try await device.relay("GET", "/\(number)", headers: ["Prefer": "wait=20"])
      #expect(answer.status == 200)
    }
    #expect(stand.server.received.count == 1)
  }

  @Test("a token in results that came as gzip is shown to nobody")
  func packedResults() async throws {
    let batch: [String: any Sendable] = ["format": "ndjson", "path": "/in", "itemsMax": 25]
    let stand = try TokenStand(lifetimeSeconds: 3600, batch: batch)
    stand.service.behave { request in
      let sent = request["Authorization"] ?? ""
      let result = #"{"status": 422, "title": "bad \#(sent)", "errorId": "\#(sent)"}"#
      let count = request.message.text.split(separator: "\n").count
      let text = "[" + Array(repeating: result, count: count).joined(separator: ",") + "]"
      let field = WireField(name: "Content-Encoding", value: "gzip")
      return .answer(
        200, fields: [field], body: (try? GzipEncoder.encode(Array(text.utf8))) ?? [])
    }
    try await stand.relay.start()
    let device = stand.relay.device()
    let posted = try await device.post(batch: [
      ["path": "/", "body": 1], ["path": "/", "body": 2],
    ])
    #expect(posted.status == 202)
    let list = try await eventually("both are refused") {
      let list = try await device.get("/v1/envelopes?state=failed").json()["envelopes"]
      let failed = list as? [[String: Any]]
      return failed?.count == 2 ? failed : nil
    }
    let sent = try #require(stand.service.received.first?["Authorization"]).dropFirst(7)
    var shown = try await device.get("/status").text
    for id in list.compactMap({ $0["id"] as? String }) {
      shown += try await device.get("/v1/envelopes/\(id)").text
      shown += try await device.get("/v1/envelopes/\(id)/response").text
    }
    shown += stand.relay.log
    #expect(shown.contains("bad Bearer ***") && !shown.contains(sent))
  }

  @Test("a trial shows no token, also where another relay repeats it in a refusal that is gzip")
  func packedRefusal() async throws {
    let stand = try TokenStand(lifetimeSeconds: 3600, batch: ["format": "waystation"])
    stand.service.behave { request in
      let sent = request["Authorization"] ?? ""
      let type = "urn:waystation:problem:unauthenticated"
      let problem = #"{"type": "\#(type)", "status": 401, "detail": "no \#(sent)"}"#
      let field = WireField(name: "Content-Encoding", value: "gzip")
      return .answer(
        401, fields: [field], body: (try? GzipEncoder.encode(Array(problem.utf8))) ?? [])
    }
    try await stand.relay.start()
    let tried = try await stand.relay.device().request("POST", "/v1/upstreams/default/try")
    let sent = try #require(stand.service.received.first?["Authorization"]).dropFirst(7)
    #expect(tried.text.contains("(no Bearer ***") && !tried.text.contains(sent), "\(tried.text)")
  }
}

import JSON
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

import struct RelayCore.StoreError

@Suite("Numbers that others have used", .timeLimit(.minutes(5)))
struct NumberTests {
  @Test("items whose ends the relay tells with its answer go together, behind the first one")
  func together() async throws {
    let stand = try await Stand { $0.startPaused = true }
    for number in 1...20 { try await stand.outbox.enqueue(Request("POST", "/\(number)")) }
    try await stand.outbox.resume()
    let report = await stand.outbox.run(within: .seconds(30))
    #expect(report.delivered.count == 20)
    #expect(stand.relay.requestCount == 2)
    await stand.outbox.close()
  }

  @Test("do not change a lane's order")
  func order() async throws {
    let stand = try await Stand { $0.startPaused = true }
    try await stand.anotherPosts(1...2)
    let requests = (1...4).map { (Request("POST", "/\($0)"), Options()) }
    let ids = try await stand.outbox.enqueue(requests)
    try await stand.outbox.resume()
    for id in ids { #expect(try await stand.ending(of: id).word == "delivered") }
    #expect(stand.paths.filter { $0 != "/another" } == ["/1", "/2", "/3", "/4"])
    await stand.outbox.close()
  }

  @Test("do not change it either where the device was stopped with a post under way")
  func sealed() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let requests = (1...4).map { (Request("POST", "/\($0)"), Options()) }
    let ids = try await stand.outbox.enqueue(requests)
    // Given out, as by a post of which nothing has arrived.
    try await stand.outbox.store.run(changes: false) { core, now throws(StoreError) in
      for id in ids { if let item = try core.file.item(id.raw) { _ = try core.seal(item) } }
    }
    let next = try await stand.reopened()
    try await next.anotherPosts(1...1)
    try await next.outbox.resume()
    for id in ids { #expect(try await next.ending(of: id).word == "delivered") }
    #expect(next.paths.filter { $0 != "/another" } == ["/1", "/2", "/3", "/4"])
    await next.outbox.close()
  }

  @Test("leave nobody in doubt: what may have arrived under its former number is not taken back")
  func mayHaveArrived() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let requests = (1...2).map { (Request("POST", "/\($0)"), Options()) }
    let ids = try await stand.outbox.enqueue(requests)
    try await stand.outbox.store.run(changes: false) { core, _ throws(StoreError) in
      for id in ids { if let item = try core.file.item(id.raw) { _ = try core.seal(item) } }
      // Of the first one the relay says that its number is passed.
      let problem = try? RelayProblem(
        JSONValue.parse(Array(#"{"type":"urn:waystation:problem:sequence-passed"}"#.utf8)))
      if let item = try core.file.item(ids[0].raw), let problem { try core.renumber(item, problem) }
    }
    await #expect(throws: ChangeError.self) { try await stand.outbox.cancel(ids[1]) }
    await #expect(throws: ChangeError.self) {
      try await stand.outbox.edit(ids[1], Change(request: Request("POST", "/other")))
    }
    try await stand.outbox.resume()
    for id in ids { #expect(try await stand.ending(of: id).word == "delivered") }
    #expect(stand.paths == ["/1", "/2"])
    await stand.outbox.close()
  }

  @Test("do not stop an upload, which goes under another one")
  func upload() async throws {
    let stand = try await Stand { settings in
      settings.startPaused = true
      settings.sending.uploadBytes = 100
    }
    try await stand.anotherPosts(1...1)
    let large = try await stand.outbox.enqueue(
      Request("POST", "/large", .bytes(.zeros(500), type: "x/y")))
    let small = try await stand.outbox.enqueue(Request("POST", "/small"))
    try await stand.outbox.resume()
    #expect(try await stand.ending(of: large).word == "delivered")
    #expect(try await stand.ending(of: small).word == "delivered")
    #expect(stand.paths.filter { $0 != "/another" } == ["/large", "/small"])
    await stand.outbox.close()
  }
}

extension Stand {
  /// Somebody else posts for the same client, under these numbers of its lane.
  func anotherPosts(_ numbers: ClosedRange<Int>) async throws {
    let lines = numbers.map { number in
      """
      {"client": "device", "lane": "default", "sequence": \(number), "key": "another-\(number)", \
      "method": "POST", "path": "/another"}
      """
    }
    let text = [#"{"client": "device"}"#] + lines
    let exchange = Exchange(
      method: "POST", url: "http://relay/v1/sync",
      headers: [("Content-Type", "application/x-ndjson")],
      body: .bytes(Array(text.joined(separator: "\n").utf8)), identity: nil, timeout: .seconds(1))
    let response = try await relay.send(exchange) { _ in }
    try #require(response.status == 200)
  }
}

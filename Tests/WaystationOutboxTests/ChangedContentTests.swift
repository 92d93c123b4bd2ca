import SQLite
import Testing
import WaystationOutboxTesting

@testable import WaystationOutbox

@Suite("A request that was changed where it is kept", .timeLimit(.minutes(5)))
struct ChangedContentTests {
  /// One bit in each part of a row.
  enum Place: String, CaseIterable, CustomTestStringConvertible {
    case body = "body = CAST(replace(body, 'price', 'prize') AS BLOB)"
    case path = "request = CAST(replace(request, '/sale', '/salf') AS BLOB)"
    case sum = "request = substr(request, 1, length(request) - 1) || x'00'"
    case mark = "request = replace(request, x'FFFFFFFF', x'FFFFFFFE')"

    var testDescription: String { "\(self)" }
  }

  private let sale = Request("POST", "/sale", .bytes(Array(#"{"price": 7}"#.utf8), type: "a/b"))

  private func filled() async throws -> (stand: Stand, ids: [Item.ID]) {
    let stand = try await Stand { $0.startPaused = true }
    let requests = [Request("POST", "/before"), sale, Request("POST", "/behind")]
    let ids = try await stand.outbox.enqueue(requests.map { ($0, Options()) })
    await stand.outbox.close()
    return (stand, ids)
  }

  private func path(_ stand: Stand) -> String {
    OutboxFile.path(in: "\(stand.folder.path)/outbox")
  }

  /// Changes a closed outbox's database behind its back.
  private func change(_ stand: Stand, _ sql: String) throws {
    try OutboxFile(path: path(stand), durability: .ordered).connection.execute(sql)
  }

  @Test("is not sent, and waits for somebody who mends it", arguments: Place.allCases)
  func notSent(place: Place) async throws {
    let (stand, ids) = try await filled()
    try change(stand, "UPDATE content SET \(place.rawValue) WHERE id = \(ids[1].raw)")
    let next = try await stand.reopened()
    try await next.outbox.resume()
    #expect(try await next.ending(of: ids[1]).word == "refused")
    #expect(await next.outbox.item(ids[1])?.lastError?.id == "body-lost")
    #expect(next.paths == ["/before"])
    try await next.outbox.resolve(ids[1], .retry(Change(request: sale)))
    #expect(try await next.ending(of: ids[2]).word == "delivered")
    #expect(next.paths == ["/before", "/sale", "/behind"])
    await next.outbox.close()
  }

  @Test("is known as such after the other items were saved from a damaged database")
  func salvaged() async throws {
    let (stand, ids) = try await filled()
    try change(stand, "UPDATE content SET \(Place.body.rawValue) WHERE id = \(ids[1].raw)")
    try Platform.write([], toNew: OutboxFile.mark(in: "\(stand.folder.path)/outbox"))
    let next = try await stand.reopened()
    try await next.outbox.resume()
    #expect(try await next.ending(of: ids[1]).word == "refused")
    #expect(next.paths == ["/before"])
    await next.outbox.close()
  }

  @Test("cannot be told where a row was written without a checksum, which goes as it is")
  func withoutSum() async throws {
    let (stand, ids) = try await filled()
    try change(stand, "UPDATE content SET request = substr(request, 1, length(request) - 12)")
    let next = try await stand.reopened()
    try await next.outbox.resume()
    #expect(try await next.ending(of: ids[2]).word == "delivered")
    #expect(next.paths == ["/before", "/sale", "/behind"])
    await next.outbox.close()
  }

  @Test("is not sent again in place of what the relay may have, and the relay says what it has")
  func sealed() async throws {
    let stand = try await Stand { $0.startPaused = true }
    let id = try await stand.outbox.enqueue(sale)
    stand.relay.loseAnswers()
    try await stand.outbox.resume()
    while stand.paths.isEmpty { await Task.yield() }
    await stand.outbox.close()
    try change(stand, "UPDATE content SET \(Place.body.rawValue) WHERE id = \(id.raw)")
    stand.relay.mend()
    let next = try await stand.reopened()
    try await next.outbox.resume()
    while await next.outbox.outcome(of: id)?.word != "delivered" { await Task.yield() }
    #expect(next.relay.delivered.map(\.body) == [Array(#"{"price": 7}"#.utf8)])
    await next.outbox.close()
  }
}

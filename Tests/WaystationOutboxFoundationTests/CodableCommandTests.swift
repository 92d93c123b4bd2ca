import Foundation
import Testing
import WaystationOutbox
import WaystationOutboxFoundation
import WaystationOutboxTesting

@Suite("Commands that are Codable")
struct CodableCommandTests {
  struct Sale: CodableCommand, Equatable {
    static let tag: WaystationOutbox.Tag = "sale"
    static let version = 3

    var article: String
    var cents: Int
    var note: String?

    /// The first version had whole units, the second no note.
    static func migrated(_ stored: [UInt8], from version: Int) throws -> Sale {
      guard version == 1 else { return try form.decode(Sale.self, from: stored) }
      struct First: Decodable {
        var article: String
        var price: Int
      }
      let first = try form.decode(First.self, from: stored)
      guard first.price >= 0 else { throw RecordedError(id: "price", message: "below zero") }
      return Sale(article: first.article, cents: first.price * 100)
    }
  }

  struct Ratio: CodableCommand {
    static let tag: WaystationOutbox.Tag = "ratio"
    var value: Double
  }

  private func folder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  @Test("a command becomes a request in the app's next life")
  func nextLife() async throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let relay = ScriptedRelay()
    let settings = Settings(
      folder: folder.path, destination: .relay(base: "http://relay", client: "till"),
      transport: relay)
    let first = try await Outbox.open(settings)
    let id = try await first.enqueue(Sale(article: "tea", cents: 250))
    #expect(await first.run().skipped.map(\.1) == [.noHandler("sale")])
    await first.close()
    let second = try await Outbox.open(settings)
    await second.register(Sale.self) { sale, _ in
      .request(Request("POST", "/sales", try .json(encoding: sale)))
    }
    _ = await second.outcome(of: id)
    #expect(
      relay.delivered.map { String(decoding: $0.body, as: UTF8.self) }
        == [#"{"article":"tea","cents":250}"#])
    await second.close()
  }

  @Test("what an older app has stored is read in its own form")
  func migrated() throws {
    let first = try Sale(stored: Array(#"{"article":"tea","price":2}"#.utf8), version: 1)
    #expect(first == Sale(article: "tea", cents: 200))
    let second = try Sale(stored: Array(#"{"article":"tea","cents":9}"#.utf8), version: 2)
    #expect(second == Sale(article: "tea", cents: 9))
    let error = #expect(throws: RecordedError.self) {
      try Sale(stored: Array(#"{"article":"tea","price":-2}"#.utf8), version: 1)
    }
    #expect(error?.id == "price")
  }

  @Test("what a newer app has stored is not guessed at")
  func newer() {
    let fault = #expect(throws: CommandFault.self) {
      try Sale(stored: Array(#"{"article":"tea","cents":1}"#.utf8), version: 4)
    }
    #expect(fault == .newer(stored: 4, known: 3))
  }

  @Test("what cannot be read or written is told with its place")
  func faults() async throws {
    let unreadable = #expect(throws: CommandFault.self) {
      try Ratio(stored: Array(#"{"value":"half"}"#.utf8), version: 1)
    }
    #expect("\(try #require(unreadable))".hasPrefix("it is of version 1, and unreadable: value: "))
    let older = #expect(throws: CommandFault.self) {
      try Ratio(stored: Array("{}".utf8), version: 0)
    }
    #expect(older == .unreadable(version: 0, JSONFault(path: "value", reason: "it is missing")))
    let unwritable = #expect(throws: CommandFault.self) { try Ratio(value: .infinity).stored() }
    guard case .unwritable(let fault) = unwritable else {
      Issue.record("it was \(String(describing: unwritable))")
      return
    }
    #expect(fault.path == "value")
  }

  @Test("a command that cannot be written is not kept")
  func notKept() async throws {
    let folder = try folder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let outbox = try await Outbox.open(
      Settings(
        folder: folder.path, destination: .relay(base: "http://relay", client: "till"),
        transport: ScriptedRelay()))
    await #expect(throws: EnqueueError.self) { try await outbox.enqueue(Ratio(value: .nan)) }
    #expect(await outbox.status()?.waiting == 0)
    await outbox.close()
  }
}

import JSON
import RelayCore
import RelayServer
import Testing

@Suite("What the documents say of events")
struct EventDocumentTests {
  private static let names =
    EventKind.allCases.map(\.rawValue) + StreamedEvent.allCases.map(\.rawValue)

  @Test("the contract lists every name, and none that there is not")
  func contract() throws {
    let listed = try Documents.words(ofSchema: "EventName")
    for name in Set(Self.names).subtracting(listed).sorted() {
      Issue.record("EventName of openapi.yaml lacks \(name)")
    }
    for name in Set(listed).subtracting(Self.names).sorted() {
      Issue.record("EventName of openapi.yaml has \(name), and there is no such event")
    }
    #expect(Set(listed).count == listed.count, "no name stands twice")
  }

  @Test("the protocol's table has every name with its own numbers, and none that there is not")
  func protocolTable() throws {
    let members = Set(try Documents.properties(ofSchema: "Event"))
    let numbers = Set(EventKind.allCases.flatMap(\.record.numbers))
    #expect(!members.isEmpty && !numbers.isEmpty)
    var missing = Set(Self.names)
    for row in try Documents.table("event | what happened", in: "docs/protocol.md") {
      let named = Set(Documents.quoted(in: row.count > 2 ? row[2] : ""))
      for name in Documents.quoted(in: row[0]) {
        #expect(missing.remove(name) != nil, "\(name) is no event, or stands twice")
        guard let kind = EventKind(rawValue: name) else { continue }
        #expect(named.intersection(numbers) == Set(kind.record.numbers), "\(name)")
        #expect(named.isSubset(of: members), "\(name) has what Event of openapi.yaml lacks")
      }
    }
    for name in missing.sorted() { Issue.record("the table of docs/protocol.md lacks \(name)") }
  }

  @Test("a kind's own numbers are written by the names of its record, and Event has them")
  func numbers() throws {
    let members = try Documents.properties(ofSchema: "Event")
    for kind in EventKind.allCases {
      let names = kind.record.numbers
      #expect(Set(names).isSubset(of: members), "\(kind)")
      let event = RelayEvent(
        EventEntry(kind, numbers: names.indices.map { Int64($0) + 7 }),
        position: EventPosition(row: 1, index: 0), at: Fixture.now, id: nil, client: nil,
        lane: nil, upstream: nil)
      let json = try JSONValue.parse(event.json())
      for (place, name) in names.enumerated() {
        let member = try json.object().first { $0.name.string == name }
        #expect(try member?.value.int64() == Int64(place) + 7, "\(kind)")
      }
    }
  }
}

import Testing

@testable import waystation

@Suite("A stream of events, as the command reads it")
struct EventReaderTests {
  @Test("an event has its name, its id and all lines of its data, in whatever pieces it comes")
  func pieces() {
    let text = ": hello\r\nevent: failed\nid: 7\ndata: {\ndata: }\n\n"
    for size in 1...text.utf8.count {
      var events: [EventReader.Event] = []
      let reader = EventReader { events.append($0) }
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        #expect(reader.take(rest.prefix(size)))
        rest = rest.dropFirst(size)
      }
      #expect(events == [EventReader.Event(name: "failed", id: "7", data: "{\n}")])
      #expect(reader.lastID == "7")
    }
  }

  @Test(
    "an event without end is not kept in memory: reading it ends",
    arguments: ["x", "data: x\n"])
  func withoutEnd(piece: String) {
    let reader = EventReader(eventBytesMax: 1000) { _ in }
    let taken = (0...1000).prefix { _ in reader.take(piece.utf8) }.count
    #expect(taken <= 1000)
    #expect(reader.isTooLong)
  }
}

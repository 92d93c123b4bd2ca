import RelayCore
import Testing

@testable import RelayServer

@Suite("Events as text")
struct EventTextTests {
  private func text(_ write: (inout EventText) -> Void) -> String {
    var text = EventText()
    write(&text)
    return String(decoding: text.bytes, as: UTF8.self)
  }

  @Test("an event has its name, its id if it moves on, and its data")
  func event() {
    #expect(
      text { $0.event("delivered", id: "1-2", data: Array("{}".utf8)) }
        == "event: delivered\nid: 1-2\ndata: {}\n\n")
    #expect(
      text { $0.event("progress", data: Array("{}".utf8)) } == "event: progress\ndata: {}\n\n")
  }

  @Test("a sign of life is no event, and moves on")
  func sign() {
    #expect(text { $0.sign(id: "1-2") } == ":\nid: 1-2\n\n")
    #expect(text { $0.retry(afterMs: 2000) } == "retry: 2000\n\n")
  }

  @Test("the data says what is known, in one line")
  func data() {
    var entry = EventEntry(
      .attempted, serial: 7, attempt: 2, status: 503,
      dueAt: WallTime(millisecondsSinceEpoch: 1_500), reason: "it said\n\"later\"")
    let position = EventPosition(row: 1, index: 1)
    func json(_ entry: EventEntry) -> String {
      let event = RelayEvent(
        entry, position: position, at: WallTime(millisecondsSinceEpoch: 1_000), id: nil,
        client: "c", lane: "l", upstream: nil)
      return String(decoding: event.json(), as: UTF8.self)
    }
    #expect(
      json(entry)
        == #"{"at":"1970-01-01T00:00:01.000Z","client":"c","lane":"l","state":"queued","#
        + #""attempt":2,"status":503,"reason":"it said\n\"later\"","#
        + #""nextAttemptAt":"1970-01-01T00:00:01.500Z"}"#)
    entry = EventEntry(.accepted, serial: 7, standing: .held)
    #expect(
      json(entry)
        == #"{"at":"1970-01-01T00:00:01.000Z","client":"c","lane":"l","state":"held"}"#)
  }
}

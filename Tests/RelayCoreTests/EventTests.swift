import RelayCore
import Testing

@Suite("Events")
struct EventTests {
  @Test("an event's id comes back from its text as it was")
  func roundTrip() {
    let id = EventID(origin: 0x00C0_FFEE, position: EventPosition(row: 812, index: 3))
    #expect(id.description == "00c0ffee-812-3")
    #expect(EventID(parsing: id.description) == id)
  }

  @Test(
    "what is no event's id is not read as one",
    arguments: [
      "", "812", "812-3", "00c0ffee-812", "00c0ffee-812-3-1", "00C0FFEE-812-3", "c0ffee-812-3",
      "00c0ffee-0-3", "00c0ffee--1-3", "00c0ffee-812-", "00c0ffee-812-+3", "00c0ffee-812-3 ",
      "00c0ffee-99999999999999999999-3", "zzzzzzzz-1-1",
    ])
  func malformed(_ text: String) {
    #expect(EventID(parsing: text) == nil)
  }

  @Test("a log reaches back to its first event, and to no other log's")
  func reach() {
    let span = EventLogSpan(
      origin: 7, first: EventPosition(row: 5, index: 0), end: EventPosition(row: 9, index: 0))
    func reaches(_ origin: UInt32, _ row: Int64, _ index: Int) -> Bool {
      span.reaches(EventID(origin: origin, position: EventPosition(row: row, index: index)))
    }
    #expect(reaches(7, 5, 0) && reaches(7, 8, 2) && reaches(7, 9, 0))
    #expect(!reaches(7, 4, 9) && !reaches(7, 9, 1) && !reaches(7, 10, 0) && !reaches(8, 6, 0))
  }
}

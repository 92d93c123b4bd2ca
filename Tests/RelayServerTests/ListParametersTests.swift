import RelayCore
import RelayServer
import Testing

@Suite("The query of a list, and its cursor")
struct ListParametersTests {
  private func read(_ query: String?) throws -> ListParameters {
    try ListParameters(query.map { Array($0.utf8)[...] })
  }

  private func problem(_ query: String) -> Problem? {
    #expect(throws: Problem.self) { try read(query) }
  }

  @Test("without a query everything is listed from the beginning")
  func nothing() throws {
    for query in [nil, ""] {
      let parameters = try read(query)
      #expect(parameters.limit == 50 && parameters.start == 0)
      #expect(parameters.filter.selection.states == Set(EnvelopeState.allCases))
      #expect(parameters.filter.selection.client == nil && parameters.filter.selection.tag == nil)
    }
  }

  @Test("filters are read by name, and percent-encoding is undone")
  func filters() throws {
    let parameters = try read("client=truck%2D7&lane=a&upstream=north&tag=t%26&limit=200")
    #expect(
      parameters.filter.selection.client == "truck-7" && parameters.filter.selection.lane == "a")
    #expect(
      parameters.filter.selection.upstream == "north" && parameters.filter.selection.tag == "t&")
    #expect(parameters.limit == 200)
  }

  @Test("states may be repeated, or listed with commas")
  func states() throws {
    for query in ["state=held&state=failed", "state=held,failed", "state=failed%2Cheld,failed"] {
      #expect(try read(query).filter.selection.states == [.held, .failed])
    }
  }

  @Test(
    "what cannot be asked for is refused by name",
    arguments: [
      ("limit=0", "limit"), ("limit=201", "limit"), ("limit=", "limit"), ("limit=+5", "limit"),
      ("limit=5&limit=6", "limit"), ("state=", "state"), ("state=held,", "state"),
      ("state=waiting", "state"), ("client=", "client"), ("client=a%20b", "client"),
      ("client=a&client=a", "client"), ("tag=%C3%A4", "tag"), ("cursor=", "cursor"),
      ("cursor=abc", "cursor"), ("client=%zz", ""),
    ])
  func refused(query: String, field: String) {
    let problem = problem(query)
    #expect(problem?.kind == .invalidField)
    #expect(problem?.field == field)
  }

  @Test("an unknown parameter is refused, and a near one is guessed")
  func unknown() {
    let problem = problem("clent=a")
    #expect(problem?.kind == .unknownField)
    #expect(problem?.field == "clent")
    #expect(problem?.fix?.contains("client") == true)
  }

  @Test("a cursor goes on under its own filter, with whatever limit, and under no other")
  func cursor() throws {
    let first = try read("client=a&state=held,failed")
    let text = first.cursor(behind: 41).text
    #expect(text.utf8.count == 22)
    #expect(try read("state=failed&client=a&state=held&limit=3&cursor=\(text)").start == 41)
    for query in ["client=b&state=held,failed", "client=a&state=held", "client=a", "lane=a", ""] {
      let problem = problem("\(query)&cursor=\(text)".drop { $0 == "&" }.description)
      #expect(problem?.kind == .invalidField && problem?.field == "cursor", "\(query)")
    }
  }

  @Test("a cursor's text is read back as it was, and nothing else is a cursor")
  func text() {
    for serial in [0, 1, 255, 1 << 20, EnvelopeID.serialMax] {
      let cursor = ListCursor(behind: serial, of: EnvelopeFilter(client: "c"))
      #expect(ListCursor(parsing: cursor.text) == cursor)
      #expect(ListCursor(parsing: cursor.text)?.serial == serial)
      #expect(ListCursor(parsing: cursor.text + "=") == nil)
      #expect(ListCursor(parsing: String(cursor.text.dropLast())) == nil)
    }
    #expect(ListCursor(parsing: String(repeating: "A", count: 22)) != nil)
    // Past the largest number, bits that stand for nothing, another alphabet.
    #expect(ListCursor(parsing: "_" + String(repeating: "A", count: 21)) == nil)
    #expect(ListCursor(parsing: String(repeating: "A", count: 21) + "B") == nil)
    #expect(ListCursor(parsing: "AAAAAAAAAAAAAAAA+AAAAA") == nil)
  }

  @Test("what is being delivered at the moment does not change a cursor")
  func inFlight() {
    let before = ListCursor(behind: 1, of: EnvelopeFilter())
    #expect(before.belongs(to: EnvelopeFilter(inFlight: [1, 2])))
    // A name of one filter is not taken for that of another.
    #expect(
      !ListCursor(behind: 1, of: EnvelopeFilter(client: "a")).belongs(
        to: EnvelopeFilter(lane: "a")))
  }
}

import HTTPServer
import RelayCore
import Testing

@testable import RelayServer

@Suite("What is asked of GET /v1/events")
struct EventParametersTests {
  private static let first = "5f3a9c1e-812-1"
  private static let second = "5f3a9c1e-900-0"

  private func parameters(
    _ query: String, lastEventID: String? = nil
  ) throws -> EventParameters {
    var text = "GET /v1/events\(query) HTTP/1.1\r\nHost: r\r\n"
    if let lastEventID { text += "Last-Event-ID: \(lastEventID)\r\n" }
    let request = try #require(HTTPRequest(parsing: Array((text + "\r\n").utf8)))
    return try EventParameters(request.head)
  }

  private func problem(_ query: String, lastEventID: String? = nil) -> Problem? {
    do {
      _ = try parameters(query, lastEventID: lastEventID)
      return nil
    } catch {
      return error as? Problem
    }
  }

  @Test("nothing asks for everything, from now on")
  func nothing() throws {
    let all = try parameters("")
    #expect(all.filter == EventFilter() && all.lastSeen == nil)
  }

  @Test("all parts of a filter are read")
  func filter() throws {
    let id = "0199a3c2-5e10-7a41-8000-00004a41c0de"
    let found = try parameters("?client=truck%2D7&lane=a&upstream=u&envelope=\(id)")
    #expect(found.filter.client == "truck-7" && found.filter.lane == "a")
    #expect(found.filter.upstream == "u" && found.filter.envelope?.description == id)
  }

  @Test("Last-Event-ID beats after, and an empty one says nothing")
  func lastSeen() throws {
    #expect(try parameters("?after=\(Self.first)").lastSeen?.description == Self.first)
    let both = try parameters("?after=\(Self.first)", lastEventID: Self.second)
    #expect(both.lastSeen?.description == Self.second)
    let empty = try parameters("?after=\(Self.first)", lastEventID: "")
    #expect(empty.lastSeen?.description == Self.first)
  }

  @Test(
    "what cannot be used is refused by name",
    arguments: [
      ("?client=", "client"), ("?lane=a%20b", "lane"), ("?upstream=%C3%A4", "upstream"),
      ("?client=a&client=a", "client"), ("?after=1", "after"), ("?after=", "after"),
      ("?client=%zz", ""),
    ])
  func refused(_ query: String, _ field: String) {
    let problem = problem(query)
    #expect(problem?.kind == .invalidField && (problem?.field ?? "") == field)
  }

  @Test("a wrong name, a wrong id and a wrong header are told apart")
  func kinds() {
    #expect(problem("?cleint=a")?.kind == .unknownField)
    #expect(problem("?envelope=a")?.kind == .unknownEnvelope)
    let header = problem("", lastEventID: "a")
    #expect(header?.kind == .invalidField && header?.field == "Last-Event-ID")
  }
}

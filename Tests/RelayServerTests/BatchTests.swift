import HTTPServer
import JSON
import RelayCore
import RelayServer
import Testing

@Suite("A batch")
struct BatchTests {
  private func pieces(_ text: String, _ ranges: [Range<Int>]) -> [String] {
    let bytes = Array(text.utf8)
    return ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
  }

  @Test("an array is cut into its items, whatever stands inside them")
  func array() throws {
    let text = #" [ {"a":[1]} , nonsense, "x,]" ] "#
    let items = try BatchItems.ofArray(Array(text.utf8), countMax: 3)
    #expect(pieces(text, items) == [#"{"a":[1]}"#, "nonsense", #""x,]""#])
  }

  @Test("lines end by LF or CR LF, empty ones are left out, and the last needs no end")
  func lines() throws {
    let text = "{}\r\n\n  \t\r\n{\"a\":1}\n[1]"
    let items = try BatchItems.ofLines(Array(text.utf8), countMax: 3)
    #expect(pieces(text, items) == ["{}\r", "{\"a\":1}", "[1]"])
  }

  @Test("one that is empty, too long or no array is refused whole")
  func refused() {
    func kind(_ body: () throws -> Void) -> ProblemKind? {
      #expect(throws: Problem.self, performing: body)?.kind
    }
    #expect(kind { _ = try BatchItems.ofArray(Array("[]".utf8), countMax: 3) } == .invalidField)
    #expect(kind { _ = try BatchItems.ofLines(Array("\n \n".utf8), countMax: 3) } == .invalidField)
    #expect(kind { _ = try BatchItems.ofArray(Array("[1,2]".utf8), countMax: 1) } == .batchTooLarge)
    #expect(kind { _ = try BatchItems.ofLines(Array("1\n2".utf8), countMax: 1) } == .batchTooLarge)
    #expect(kind { _ = try BatchItems.ofArray(Array("[1,".utf8), countMax: 3) } == .malformedJSON)
  }

  @Test("an item that is no JSON is told of by its place in the item")
  func place() throws {
    let text = Array("{\"client\":\"c\",\"path\":\"/\"}\n{\"client\" 1}".utf8)
    let items = try BatchItems.ofLines(text, countMax: 2)
    let decoder = EnvelopeDecoder(AcceptanceRules(try Fixture.configuration()))
    #expect(try decoder.decode(text, in: items[0], at: ArrivalTime(Fixture.now)).client == "c")
    let problem = #expect(throws: Problem.self) {
      try decoder.decode(text, in: items[1], at: ArrivalTime(Fixture.now))
    }
    let place = "At line 1, column 11 of the item"
    #expect(problem?.detail.hasPrefix(place) == true, "\(problem as Any)")
  }

  @Test("lines ahead of items are counted, and an item within a line has none")
  func lineCount() throws {
    let text = Array("{}\n\r\n{}\n [1,\n2]".utf8)
    let items = try BatchItems.ofLines(text, countMax: 9)
    var count = BatchItems.LineCount()
    #expect(items.map { count.line(of: $0, in: text) } == [1, 3, 4, 5])
    let array = Array("[{},\n{},{}]".utf8)
    count = BatchItems.LineCount()
    let elements = try BatchItems.ofArray(array, countMax: 9)
    #expect(elements.map { count.line(of: $0, in: array) } == [nil, 2, nil])
  }

  private let id = EnvelopeID(serial: 1, acceptedAt: Fixture.now, random: 0)
  private let bad = BatchResults.Item.rejected(.missingField("/path", "No path.", fix: "Add it."))

  @Test("results are told in order, each with its index")
  func results() throws {
    let results = BatchResults([
      .accepted(id: id, state: .queued), .duplicate(id: id, state: .delivered), bad,
    ])
    let json = try JSONValue.parse(results.json())
    let items = Array(try #require(json["results"]).array())
    #expect(try items.map { try $0["index"]?.int64() } == [0, 1, 2])
    #expect(
      try items.map { try $0["result"]?.string() } == ["accepted", "duplicate", "rejected"])
    #expect(try items[1]["id"]?.string() == id.description)
    #expect(try items[1]["state"]?.string() == "delivered")
    #expect(try items[2]["problem"]?["field"]?.string() == "/path")
    #expect(results.problem(isStrict: false) == nil)
  }

  @Test("one of which nothing was taken is a problem with the results in it")
  func nothingTaken() throws {
    let problem = try #require(BatchResults([bad]).problem(isStrict: false))
    #expect(problem.kind == .batchRejected && problem.status == 422)
    let results = try JSONValue.parse(try #require(problem.results))
    #expect(try Array(results.array()).count == 1)
    let strict = BatchResults([.rejected(.leftOut()), bad])
    #expect(
      strict.problem(isStrict: true)?.detail
        == "1 of 2 envelopes could not be taken, and the batch is all or nothing.")
  }

  @Test("one that only lacked room is answered by that")
  func noRoom() {
    func lack(isOfClient: Bool) -> Problem {
      .overQuota(
        QuotaRefusal(limit: .waitingEnvelopes, isOfClient: isOfClient, max: 5), client: "c",
        retryAfterSeconds: 7)
    }
    let (queueFull, clientQueueFull) = (lack(isOfClient: false), lack(isOfClient: true))
    let results = BatchResults([.rejected(queueFull), .rejected(clientQueueFull)])
    #expect(results.problem(isStrict: false)?.kind == .queueFull)
    let strict = BatchResults([.rejected(.leftOut()), .rejected(clientQueueFull)])
    #expect(strict.problem(isStrict: true)?.status == 429)
    let mixed = BatchResults([.rejected(queueFull), bad])
    #expect(mixed.problem(isStrict: false)?.kind == .batchRejected)
    let some = BatchResults([.rejected(queueFull), .accepted(id: id, state: .queued)])
    #expect(some.problem(isStrict: false) == nil)
  }
}

import JSON
import RelayCore
import Testing

@testable import waystation

@Suite("The status in words")
struct StatusTextTests {
  private static let now = WallTime(millisecondsSinceEpoch: 1_800_000_000_000)

  private func status(_ text: String) throws -> JSONObject {
    try JSONValue.parse(Array(text.utf8)).object()
  }

  private func lines(_ text: String) throws -> String {
    StatusText(
      status: try status(text), server: "http://a", serverOption: "",
      terminal: .plain, now: Self.now
    ).lines().joined(separator: "\n")
  }

  private static let need = """
    {"kind": "upstream-failing", "severity": "critical", "since": "2027-01-15T07:58:00.000Z",
    "title": "nothing gets through to a: it answers 503 “try later”", "upstream": "a",
    "count": 1, "acts": []}
    """

  @Test("since when comes first, since a cause ends with others' words")
  func since() throws {
    let today = StatusText.troubles(try status("{\"needs\": [\(Self.need)]}"), now: Self.now)
    #expect(
      today.map(\.sentence) == [
        "since 07:58 UTC: nothing gets through to a: it answers 503 “try later”"
      ])
    let earlier = Self.need.replacing("01-15", with: "01-14")
    let before = StatusText.troubles(try status("{\"needs\": [\(earlier)]}"), now: Self.now)
    #expect(before.first?.sentence.hasPrefix("since 2027-01-14 07:58 UTC: ") == true)
  }

  @Test("a relay that has a name is shown with it")
  func name() throws {
    let named = try lines(#"{"name": "cell-1", "needs": [], "upstreams": []}"#)
    #expect(named.hasPrefix("● cell-1, http://a  "), "\(named)")
    #expect(try lines(#"{"needs": [], "upstreams": []}"#).hasPrefix("● http://a  "))
  }

  @Test("who signs receipts is told where any are made")
  func receipts() throws {
    let receipts = #""receipts": {"issuer": "https://relay.example", "kid": "auylu0"}"#
    let made = try lines("{\"needs\": [], \"upstreams\": [], \(receipts)}")
    #expect(made.contains("receipts   https://relay.example, key auylu0"), "\(made)")
    #expect(try !lines("{\"needs\": [], \"upstreams\": []}").contains("receipts"))
  }

  @Test("an error that is told above is not told again, and an upstream without a probe waits")
  func upstreams() throws {
    let upstream = """
      {"name": "a", "configured": true, "reachable": false, "waiting": 1, "inFlight": 0,
      "lastError": "no route"}
      """
    let told = try lines("{\"needs\": [\(Self.need)], \"upstreams\": [\(upstream)]}")
    #expect(told.contains("see above") && !told.contains("no route"))
    let untold = try lines("{\"needs\": [], \"upstreams\": [\(upstream)]}")
    #expect(untold.contains("no route"))
    #expect(untold.contains("unreachable, tried with the next envelope"), "\(untold)")
  }

  @Test("it says so where more clients wait than are shown")
  func backlogs() throws {
    for count in [5, 6] {
      let all = (1...count).map { #"{"client": "c\#($0)", "waiting": 3}"# }.joined(separator: ",")
      let shown = try lines(#"{"needs": [], "upstreams": [], "backlogs": [\#(all)]}"#)
      #expect(shown.contains("c5") && !shown.contains("c6"))
      #expect(shown.contains("others wait as well: waystation clients list") == (count == 6))
    }
  }

  @Test("less than a second is now")
  func wait() {
    let at = { (ms: Int64) in RFC3339.format(Self.now.adding(milliseconds: ms)) }
    #expect(HumanText.wait(at(999), now: Self.now) == "now")
    #expect(HumanText.wait(at(1000), now: Self.now) == "in 1 s")
  }
}

import RelayServer
import Testing

@Suite("Preferences")
struct PreferencesTests {
  private func read(_ fields: [String]) -> Preferences {
    Preferences(fields.map { Array($0.utf8)[...] })
  }

  @Test(
    "handling=strict is seen however it is written",
    arguments: [
      ["handling=strict"], ["Handling = \"strict\""], ["respond-async, HANDLING=strict;x=y"],
      ["a=\"b, handling=lenient\"", "handling=strict"], [", ,handling=strict,handling=lenient"],
    ])
  func strict(_ fields: [String]) {
    #expect(read(fields).isStrict)
  }

  @Test(
    "of a preference that is given twice the first counts",
    arguments: [["handling=lenient, handling=strict"], ["handling", "handling=strict"]])
  func first(_ fields: [String]) {
    #expect(!read(fields).isStrict)
  }

  @Test(
    "wait is a number of seconds, or is not heeded",
    arguments: [
      (["wait=20"], 20), (["WAIT=\"5\"; foo"], 5), (["wait=0"], 0),
      (["wait=99999999999999999999"], 86_400),
      (["wait=soon"], nil), (["wait"], nil), (["wait=-1"], nil), (["wait=1.5"], nil), ([], nil),
      (["wait=x, wait=3"], nil), (["x=\"\\\", wait=1\", wait=2"], 2), (["\"wait=1"], nil),
    ] as [([String], Int?)])
  func wait(_ fields: [String], _ seconds: Int?) {
    #expect(read(fields).waitSeconds == seconds)
  }
}

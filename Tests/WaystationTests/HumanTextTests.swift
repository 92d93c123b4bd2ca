import JSON
import RelayCore
import Testing

@testable import waystation

@Suite("What the command shows to people")
struct HumanTextTests {
  @Test(
    "a rate tells little from nothing",
    arguments: [
      (0, "0.0/s"), (0.033, "0.03/s"), (0.001, "0.001/s"), (0.0003, "0.001/s"), (0.0098, "0.01/s"),
      (0.5, "0.50/s"), (0.994, "0.99/s"), (0.999, "1.0/s"), (1.26, "1.3/s"), (12_000, "12000.0/s"),
    ] as [(Double, String)])
  func rate(perSecond: Double, text: String) {
    #expect(HumanText.rate(perSecond) == text)
  }

  @Test(
    "numbers are grouped by thousands",
    arguments: [
      (0, "0"), (999, "999"), (1000, "1,000"), (-12_345, "-12,345"), (1_234_567, "1,234,567"),
    ] as [(Int64, String)])
  func counts(number: Int64, text: String) { #expect(HumanText.count(number) == text) }

  @Test(
    "bytes are shown in units of 1024",
    arguments: [
      (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (1 << 20, "1.0 MiB"),
      (3 << 50, "3.0 PiB"), (5 << 60, "5120.0 PiB"),
    ] as [(Int64, String)])
  func bytes(number: Int64, text: String) { #expect(HumanText.bytes(number) == text) }

  @Test("one of a kind is told in the singular")
  func singular() {
    #expect(HumanText.contents(envelopes: 1, waiting: 1) == "1 envelope, 1 of them waits")
    #expect(HumanText.contents(envelopes: 1000, waiting: 0) == "1000 envelopes, 0 of them wait")
    #expect(HumanText.numbered(1, "body in a file", "bodies in files") == "1 body in a file")
  }

  @Test(
    "a hint at another command asks the relay that was named",
    arguments: [
      ([], ""), (["--server", "https://relay:8443"], " --server https://relay:8443"),
      (["--server", "unix:/run/my relay.sock"], " --server 'unix:/run/my relay.sock'"),
      (["--server", "unix:/it's"], #" --server 'unix:/it'\''s'"#),
    ] as [([String], String)])
  func hint(arguments: [String], option: String) throws {
    let order = try OperatorOrder(.status, arguments[...])
    let context = CommandContext(order: order, terminal: .plain)
    #expect(context.serverOption == option)
    let status = try JSONValue.parse(
      Array(
        """
        {"needs": [{"title": "one lane stands", "acts": [
          {"method": "GET", "path": "/v1/lanes", "command": ["lanes", "list"]},
          {"command": ["check", "--config", "/a b/$(reboot)'s.json"]}]}],
        "upstreams": []}
        """.utf8)
    ).object()
    let text = StatusText(
      status: status, server: "a relay", serverOption: option, terminal: .plain,
      now: WallTime(millisecondsSinceEpoch: 0))
    #expect(
      text.lines().suffix(from: 2).starts(with: [
        "  ! one lane stands", "      waystation lanes list\(option)",
        #"      waystation check --config '/a b/$(reboot)'\''s.json'"#,
      ]))
  }

  @Test("what an envelope says cannot steer a terminal, and stays readable")
  func safe() {
    #expect(SafeText.line("a\u{1B}[2Jb\u{202E}c\u{9B}") == #"a\u{1b}[2Jb\u{202e}c\u{9b}"#)
    #expect(SafeText.line("Zürich 東京") == "Zürich 東京")
    #expect(SafeText.json(Array("\"\u{7F}\u{E0001}\"".utf8)) == #""\u007f\udb40\udc01""#)
  }
}

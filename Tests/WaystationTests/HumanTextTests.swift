import Testing

@testable import waystation

@Suite("What the command shows to people")
struct HumanTextTests {
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

  @Test("what an envelope says cannot steer a terminal, and stays readable")
  func safe() {
    #expect(SafeText.line("a\u{1B}[2Jb\u{202E}c\u{9B}") == #"a\u{1b}[2Jb\u{202e}c\u{9b}"#)
    #expect(SafeText.line("Zürich 東京") == "Zürich 東京")
    #expect(SafeText.json(Array("\"\u{7F}\u{E0001}\"".utf8)) == #""\u007f\udb40\udc01""#)
  }
}

import Testing

@testable import RelayCore

@Suite("Sentences about attempts")
struct AttemptSentenceTests {
  private static let max = AttemptEvent.sentenceBytesMax

  @Test("what a sentence quotes is cut off, and in one line that can be shown")
  func bounded() {
    let long = String(repeating: "ü", count: 100_000)
    for event in [
      AttemptEvent.failed(.malformedResponse, detail: long), .unsendable(reason: long),
    ] {
      #expect(event.sentence == String(repeating: "ü", count: Self.max / 2) + "…")
    }
    for hostile in ["\u{1b}", "\n", "\u{7f}", "\u{202e}", "\u{2028}", "\0"] {
      #expect(AttemptEvent.failed(.cut, detail: "a\(hostile)ü").sentence == "a?ü")
      #expect(AttemptEvent.unsendable(reason: "a\(hostile)b").sentence == "a?b")
    }
  }

  @Test("what fits is left as it is")
  func unchanged() {
    for text in ["x took too long", "Größe: 5 €", String(repeating: "x", count: Self.max)] {
      #expect(AttemptEvent.failed(.timeout, detail: text).sentence == text)
    }
    #expect(AttemptEvent.failed(.timeout, detail: "").sentence == "the upstream took too long")
  }

  @Test("a text becomes visible ASCII byte by byte")
  func visible() {
    #expect("a\tü€b".visibleASCII(bytesMax: 6) == "a?????")
    #expect("".visibleASCII(bytesMax: 6).isEmpty && "abc".visibleASCII(bytesMax: 2) == "ab")
  }
}

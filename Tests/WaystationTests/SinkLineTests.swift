import RelayCore
import Testing

@testable import waystation

@Suite("The lines of the sink")
struct SinkLineTests {
  private func text(_ change: (inout SinkLine) -> Void) -> String {
    var line = SinkLine(
      time: WallTime(millisecondsSinceEpoch: 43_201_123), method: "POST", target: "/readings",
      status: 200, byteCount: 0)
    change(&line)
    return String(decoding: line.bytes, as: UTF8.self)
  }

  @Test("a line says when, what, from whom, and which attempt it was")
  func whole() {
    let body = Array("{\"celsius\": 21}".utf8)
    let line = text {
      ($0.client, $0.attempt, $0.key) = ("truck-7", "2", "0199")
      ($0.byteCount, $0.bodyStart) = (body.count, body)
    }
    #expect(
      line == "12:00:01.123 POST /readings  200  15 bytes  truck-7  attempt 2  key 0199"
        + "  {\"celsius\": 21}\n")
  }

  @Test("what was not sent is left out")
  func plain() {
    #expect(text { _ in } == "12:00:01.123 POST /readings  200  0 bytes\n")
    #expect(
      text {
        $0.byteCount = 1; $0.isComplete = false
      }.hasSuffix("broke off after 1 byte\n"))
  }

  @Test("a request that the sink did not come to answer is told as such")
  func unanswered() {
    #expect(text { $0.status = nil } == "12:00:01.123 POST /readings  no answer  0 bytes\n")
  }

  @Test("nothing that a sender writes can begin another line or move the cursor")
  func controls() {
    let hostile = "a\n\u{1B}[2Jb\u{7F}\u{202E}c"
    let line = text {
      ($0.client, $0.key, $0.target) = (hostile, hostile, hostile)
      $0.bodyStart = Array(hostile.utf8)
      $0.byteCount = $0.bodyStart.count
    }
    #expect(line.unicodeScalars.filter { $0.value < 0x20 } == ["\n"])
    #expect(!line.unicodeScalars.contains { $0 == "\u{7F}" || $0 == "\u{202E}" })
  }

  @Test("a long body is cut between characters, and the cut is shown")
  func longBody() {
    for padding in 0..<4 {
      let body = Array(
        (String(repeating: "x", count: padding) + String(repeating: "€", count: 500)).utf8)
      let line = text {
        $0.bodyStart = Array(body.prefix(SinkLine.bodyBytesMax))
        $0.byteCount = body.count
      }
      let shown =
        String(repeating: "x", count: padding) + String(repeating: "€", count: 60 - padding)
      #expect(line.hasSuffix("  \(shown)…\n"))
    }
  }

  @Test("a body that is not UTF-8 is not shown")
  func binaryBody() {
    let line = text {
      ($0.bodyStart, $0.byteCount) = ([0xFF, 0xFE, 0x00], 3)
    }
    #expect(line.hasSuffix("  3 bytes  (not text)\n"))
  }
}

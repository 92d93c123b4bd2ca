import Forwarder
import RelayCore
import Testing

@Suite("The header of an upstream's answer")
struct ResponseHeadTests {
  @Test("status and fields are kept, in their order and with their bytes")
  func kept() {
    var head = ResponseHead(bytesMax: 1000)
    feed(["HTTP/1.1 201 Created", "X-One:  1 \t", "x-two:", "X-One: 2"], to: &head)
    #expect(head.isComplete)
    #expect(head.status == 201)
    #expect(text(head) == "X-One: 1\r\nx-two: \r\nX-One: 2\r\n")
  }

  @Test("all field lines of the final answer are counted, also those that are left out")
  func counted() {
    var head = ResponseHead(bytesMax: 1000)
    feed(["HTTP/1.1 103 Early Hints", "Link: </x>"], to: &head)
    feed(
      [
        "HTTP/1.1 400 Bad Request", "Connection: x-a, date, content-length", "X-A: 1",
        "Content-Length: 5", "Date: x",
        "nonsense",
      ], to: &head)
    #expect(text(head) == "" && head.fieldCount == 5)
    var bare = ResponseHead(bytesMax: 1000)
    feed(["HTTP/1.0 400 Bad Request"], to: &bare)
    #expect(bare.isComplete && bare.fieldCount == 0)
  }

  @Test("HTTP/2 has no reason phrase")
  func http2() {
    var head = ResponseHead(bytesMax: 1000)
    feed(["HTTP/2 204 "], to: &head)
    #expect(head.status == 204)
  }

  @Test("interim answers and trailers are passed over")
  func interim() {
    var head = ResponseHead(bytesMax: 1000)
    feed(["HTTP/1.1 103 Early Hints", "Link: </x>"], to: &head)
    #expect(!head.isComplete)
    feed(["HTTP/1.1 200 OK", "A: 1"], to: &head)
    feed(["B: trailer"], to: &head)
    #expect(head.status == 200)
    #expect(text(head) == "A: 1\r\n")
  }

  @Test("fields that end at a relay are left out, those that Connection names included")
  func hopByHop() {
    var head = ResponseHead(bytesMax: 1000)
    feed(
      [
        "HTTP/1.1 200 OK", "X-Named: 1", "Connection: keep-alive, x-named", "Keep-Alive: timeout=5",
        "Transfer-Encoding: chunked", "Content-Type: a/b",
      ], to: &head)
    #expect(text(head) == "Content-Type: a/b\r\n")
  }

  @Test("folded lines are unfolded, control characters become blanks, other lines are dropped")
  func repaired() {
    var head = ResponseHead(bytesMax: 1000)
    feed(
      ["HTTP/1.1 200 OK", "A: 1", "\t 2", "B: x\u{1}y", "bad name: z", " fold of the bad one"],
      to: &head)
    #expect(text(head) == "A: 1 2\r\nB: x y\r\n")
  }

  @Test(
    "a status that cannot be an answer's is malformed",
    arguments: [
      "HTTP/1.1 101 Go", "HTTP/1.1 600 X", "HTTP/1.1 099 X", "HTTP/1.1 20 X", "ICY 200",
      "HTTP/1.1 0200 OK", "HTTP/1.1 2000 OK",
    ])
  func badStatus(line: String) {
    var head = ResponseHead(bytesMax: 1000)
    guard case .malformed = receive(line, &head) else {
      Issue.record("\(line) was taken")
      return
    }
  }

  @Test("more header bytes than the limit are malformed, interim ones included")
  func tooLong() {
    var head = ResponseHead(bytesMax: 100)
    feed(["HTTP/1.1 103 X", "A: " + String(repeating: "a", count: 40)], to: &head)
    #expect(receive("HTTP/1.1 200 OK", &head) == .goesOn)
    guard case .malformed = receive("B: " + String(repeating: "b", count: 40), &head) else {
      Issue.record("the line was taken")
      return
    }
  }

  private func feed(_ lines: [String], to head: inout ResponseHead) {
    for line in lines + [""] { _ = receive(line, &head) }
  }

  private func receive(_ line: String, _ head: inout ResponseHead) -> ResponseHead.Progress {
    let bytes = Array((line + "\r\n").utf8)
    return head.receive(bytes.span)
  }

  private func text(_ head: ResponseHead) -> String {
    String(decoding: head.headers().bytes, as: UTF8.self)
  }
}

import RelayCore

@testable import HTTPServer

/// A connection's state, fed a stream of requests.
///
/// However it is cut, the same requests with the same bodies come out, and it ends alike.
enum ConnectionFuzzer {
  /// What came out of a stream, one line for each thing.
  private struct Transcript: Equatable {
    var lines: [String] = []
    var body: [UInt8] = []

    mutating func endBody(_ how: String) {
      lines.append("body \(how) \(body)")
      body = []
    }
  }

  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let text = input.rest
    // Whether each handler reads its body or leaves it is drawn first: it has to be the same twice.
    let reads = (0..<8).map { _ in input.below(3) > 0 }
    let atOnce = serve(text, [text.count], reads)
    let inPieces = serve(text, input.cuts(of: text.count), reads)
    expectSame(inPieces.lines, atOnce.lines, "what a connection in pieces does")
  }

  private static func serve(_ text: [UInt8], _ lengths: [Int], _ reads: [Bool]) -> Transcript {
    let now = MonotonicTime(nanoseconds: 0)
    var limits = ParserFuzzer.limits
    limits.bodyBytesMax = 300
    limits.readBufferBytes = 512
    var state = ConnectionState(limits: limits, now: now)
    state.input.attach([UInt8](repeating: 0, count: limits.readBufferBytes))
    var feed = Feed(text: text, lengths: lengths[...])
    var transcript = Transcript()
    for index in 0... {
      guard let head = nextHead(&state, &feed, now, &transcript) else { break }
      transcript.lines.append("\(head.method) \(Array(head.target)) \(head.fields.count)")
      if reads[index % reads.count] || restDecides(head) {
        readBody(&state, &feed, now, &transcript)
      }
      // What a handler leaves has a stated length, and is never so much that it would not be
      // skipped: so nothing depends on how much of it had arrived.
      let plan = state.beginResponse(status: 200, length: 0, closes: false)
      transcript.lines.append("keeps \(plan.keepsAlive)")
      guard goOn(&state, &feed, now) else {
        transcript.lines.append("closes")
        break
      }
    }
    return transcript
  }

  /// Whether a connection is kept after an unread body depends on how much of it had arrived.
  private static func restDecides(_ head: RequestHead) -> Bool {
    head.framing == .chunked || head.expectsContinue
  }

  /// What has not arrived yet.
  private struct Feed {
    let text: [UInt8]
    var lengths: ArraySlice<Int>
    var start = 0

    /// The next piece arrives; at the end of all, the end of the connection.
    mutating func arrive(_ state: inout ConnectionState, _ now: MonotonicTime) {
      guard let length = lengths.popFirst() else { return state.inputEnded() }
      var left = length
      while left > 0 {
        let count = state.input.fill { room -> Int? in
          let count = min(room.count, left)
          text[start..<start + count].withUnsafeBytes {
            room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
          }
          return count
        }
        start += count ?? 0
        left -= count ?? 0
      }
      state.received(length, now: now)
    }
  }

  private static func nextHead(
    _ state: inout ConnectionState, _ feed: inout Feed, _ now: MonotonicTime,
    _ transcript: inout Transcript
  ) -> RequestHead? {
    while true {
      switch state.nextHead(now: now) {
      case .read: feed.arrive(&state, now)
      case .respond(let head): return head
      case .refuse(let problem):
        transcript.lines.append("refused \(problem)")
        return nil
      case .close:
        transcript.lines.append("closes")
        return nil
      }
    }
  }

  private static func readBody(
    _ state: inout ConnectionState, _ feed: inout Feed, _ now: MonotonicTime,
    _ transcript: inout Transcript
  ) {
    if let whole = state.takeWholeBody() {
      transcript.body += whole
      return transcript.endBody("ended")
    }
    while true {
      switch state.nextBody(now: now) {
      case .read: feed.arrive(&state, now)
      case .sendContinue: continue
      case .piece(let bytes): transcript.body += bytes
      case .end: return transcript.endBody("ended")
      case .failed(let error):
        // How much of a broken body was seen before it broke depends on the cut.
        transcript.body = []
        return transcript.endBody("failed \(error)")
      }
    }
  }

  /// Goes on behind an answer; false where the connection is over.
  private static func goOn(
    _ state: inout ConnectionState, _ feed: inout Feed, _ now: MonotonicTime
  ) -> Bool {
    switch state.endResponse(now: now) {
    case .next: return true
    case .close: return false
    case .skip:
      while true {
        switch state.nextSkip(now: now) {
        case .end: return true
        case .read: feed.arrive(&state, now)
        case .failed: return false
        case .piece, .sendContinue: continue
        }
      }
    }
  }
}

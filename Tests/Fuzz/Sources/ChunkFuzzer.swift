@testable import HTTPServer

/// The chunked coding: however its bytes are cut, it is undone alike, to no more than it holds.
enum ChunkFuzzer {
  private struct Undone: Equatable {
    var body: [UInt8] = []
    var consumed = 0
    /// nil while more is needed.
    var end: ChunkDecoder.Step?
  }

  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let text = input.rest
    let atOnce = undo(text, [text.count])
    let inPieces = undo(text, input.cuts(of: text.count))
    expectSame(inPieces.end, atOnce.end, "what the chunks came to, in pieces")
    expectSame(inPieces.body, atOnce.body, "what the chunks held, in pieces")
    if atOnce.end == .end {
      expectSame(inPieces.consumed, atOnce.consumed, "where the chunks end, in pieces")
      roundTrip(atOnce.body, &input)
    }
    expectHolds(atOnce.body.count <= text.count, "a body is no longer than its chunks")
  }

  private static func undo(_ text: [UInt8], _ lengths: [Int]) -> Undone {
    var decoder = ChunkDecoder(limits: ParserFuzzer.limits)
    var undone = Undone()
    var end = 0
    for length in lengths where undone.end == nil {
      end += length
      var waits = false
      while !waits, undone.end == nil {
        let step = decoder.next(text, from: &undone.consumed, to: end)
        switch step {
        case .needMore: waits = true
        case .data(let range): undone.body += text[range]
        case .end, .refused: undone.end = step
        }
        expectHolds(undone.consumed <= end, "nothing is consumed that has not come")
      }
    }
    return undone
  }

  /// What was undone, chunked anew, is the same again.
  private static func roundTrip(_ body: [UInt8], _ input: inout Input) {
    var text: [UInt8] = []
    var start = 0
    for length in input.cuts(of: body.count) {
      text += Array(String(length, radix: 16).utf8) + [13, 10]
      text += body[start..<start + length] + [13, 10]
      start += length
    }
    text += Array("0\r\n\r\n".utf8)
    let again = undo(text, input.cuts(of: text.count))
    expectSame(again.end, .end, "what chunks made anew came to")
    expectSame(again.body, body, "what chunks made anew held")
    expectSame(again.consumed, text.count, "where chunks made anew end")
  }
}

import Forwarder
import RelayCore
import Testing

@Suite("How far a request has come that is passed on")
struct PassageStateTests {
  private let answer = PassedAnswer(status: 202, fields: HeaderBlock(), contentLength: nil)

  /// Takes what can be sent now, at most so many bytes.
  private func sent(_ state: inout PassageState, _ countMax: Int = 1 << 20) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: countMax)
    let sending = buffer.withUnsafeMutableBytes { state.send(into: $0) }
    guard case .bytes(let count) = sending else { return nil }
    return Array(buffer[..<count])
  }

  /// Whether the sending goes on with a piece of the body.
  private func goesOn(_ state: inout PassageState, with piece: [UInt8]?) -> Bool {
    state.take(body: piece)
  }

  private func isTaken(_ state: inout PassageState, _ piece: [UInt8]) -> Bool {
    state.take(answer: piece)
  }

  private func next(_ state: inout PassageState) -> [UInt8]? { state.nextOfAnswer().piece }

  @Test("no body is wanted before the other relay is reached, and none once it answers")
  func wanted() {
    var state = PassageState()
    #expect(!state.wantsBody)
    #expect(sent(&state) == nil)
    #expect(state.wantsBody)
    _ = state.take(answer)
    #expect(!state.wantsBody)
  }

  @Test("the sending stands still until the next piece is here, and goes on with it")
  func held() {
    var state = PassageState()
    #expect(sent(&state) == nil && state.isSendingHeld)
    #expect(goesOn(&state, with: [1, 2, 3]))
    #expect(!goesOn(&state, with: [4]), "it goes on already")
    #expect(sent(&state, 2) == [1, 2])
    #expect(sent(&state) == [3])
    #expect(sent(&state) == [4])
    #expect(sent(&state) == nil)
    #expect(goesOn(&state, with: nil), "the end is told as well")
    #expect(sent(&state) == [])
  }

  @Test("no more waits to be sent than may")
  func full() {
    var state = PassageState()
    _ = sent(&state)
    let piece = [UInt8](repeating: 7, count: PassageState.waitingBytesMax / 2)
    _ = state.take(body: piece)
    #expect(state.wantsBody)
    _ = state.take(body: piece)
    #expect(!state.wantsBody)
    _ = sent(&state, 1)
    #expect(state.wantsBody)
  }

  @Test("an answer that nobody takes is held back, offered again, and lacks nothing")
  func answerHeld() {
    var state = PassageState()
    let piece = [UInt8](repeating: 1, count: PassageState.waitingBytesMax)
    #expect(isTaken(&state, piece))
    #expect(!isTaken(&state, [2]) && state.isAnswerHeld)
    let first = state.nextOfAnswer()
    #expect(first.piece == piece && first.goesOn)
    #expect(!state.hasNextOfAnswer)
    #expect(isTaken(&state, [2]))
    let second = state.nextOfAnswer()
    #expect(second.piece == [2] && !second.goesOn)
  }

  @Test("an answer before the end of the body ends with its own last byte")
  func earlyAnswer() {
    var state = PassageState()
    _ = sent(&state)
    _ = state.take(PassedAnswer(status: 413, fields: HeaderBlock(), contentLength: 3))
    #expect(isTaken(&state, [1, 2]) && state.end == nil)
    #expect(isTaken(&state, [3]) && state.end != nil)
    var whole = PassageState()
    _ = whole.take(body: nil)
    _ = sent(&whole)
    #expect(goesOnAfter(&whole, length: 0), "libcurl ends it, and keeps the connection")
    var empty = PassageState()
    _ = sent(&empty)
    #expect(!goesOnAfter(&empty, length: 0))
  }

  /// Whether more is to come after the head of an answer of so many bytes.
  private func goesOnAfter(_ state: inout PassageState, length: Int64) -> Bool {
    state.take(PassedAnswer(status: 404, fields: HeaderBlock(), contentLength: length))
  }

  @Test("the first end counts, and what has come before it is still handed out")
  func end() {
    var state = PassageState()
    #expect(isTaken(&state, [1]))
    state.finish(.failure(.nobody("cut")))
    state.finish(.success(()))
    #expect(state.hasNextOfAnswer && next(&state) == [1])
    #expect(state.hasNextOfAnswer && next(&state) == nil)
    guard case .failure(let failure) = state.end else {
      Issue.record("it has failed")
      return
    }
    #expect(failure.reason == "cut")
    #expect(!state.wantsBody)
  }

  @Test("an answer that is here as a whole is handed out at once, and one that failed is not")
  func whole() {
    var state = PassageState()
    _ = state.take(answer)
    #expect(isTaken(&state, [1]) && isTaken(&state, [2, 3]))
    #expect(state.takeWholeAnswer() == nil)
    state.finish(.success(()))
    #expect(state.takeWholeAnswer() == [1, 2, 3])
    #expect(next(&state) == nil)
    var failed = PassageState()
    #expect(isTaken(&failed, [1]))
    failed.finish(.failure(.nobody("gone")))
    #expect(failed.takeWholeAnswer() == nil)
  }
}

import EventLoop
import RelayCore
import Testing

@testable import RelayServer

@Suite("Questions that are not waited for at length", .timeLimit(.minutes(5)))
struct BriefQuestionsTests {
  private let loop: EventLoop
  private let questions = BriefQuestions()

  init() throws { loop = try EventLoop(name: "test") }

  private func ask(
    withinMs milliseconds: Int64, _ question: @escaping @Sendable () async -> Int
  ) async -> Int? {
    let deadline = MonotonicClock.now().adding(milliseconds: milliseconds)
    return await questions.ask(on: loop, until: deadline, question)
  }

  @Test("an answer in time is passed on, and others are asked beside it")
  func answered() async {
    async let first = ask(withinMs: 600_000) { 1 }
    async let second = ask(withinMs: 600_000) { 2 }
    #expect(await [first, second] == [1, 2])
    #expect(await ask(withinMs: 600_000) { 3 } == 3)
  }

  @Test("one that takes too long is waited for no longer, and until it ends nothing is asked")
  func late() async {
    let (end, finish) = AsyncStream.makeStream(of: Void.self)
    let late = await ask(withinMs: 1) {
      for await _ in end {}
      return 1
    }
    #expect(late == nil)
    let asked = Counter()
    let next = await ask(withinMs: 600_000) {
      asked.add()
      return 2
    }
    #expect(next == nil && asked.value == 0)
    finish.finish()
    var again: Int?
    while again == nil {
      again = await ask(withinMs: 600_000) { 3 }
      await Task.yield()
    }
    #expect(again == 3)
  }
}

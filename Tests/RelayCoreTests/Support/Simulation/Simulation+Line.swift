@testable import RelayCore
@testable import StoreModel

// The line is read while the store goes on committing. So a page may be old by the time that it is
// handed over, and it may show what the scheduler has not been told of yet.
extension Simulation {
  /// A stretch of the line.
  enum LineQuestion: Sendable {
    case after(Serial)
    case before(Serial)
  }

  /// The scheduler wants to see a stretch of the line.
  mutating func ask(_ question: LineQuestion) {
    lineQuestion = question
    lineQuestionCount += 1
    schedule(.lineRead(question: lineQuestionCount), inMs: 3)
  }

  mutating func readLine(_ number: Int) {
    guard number == lineQuestionCount, let lineQuestion else { return }
    schedule(
      .linePage(page(lineQuestion), question: number),
      inMs: Int64.random(in: 0...20, using: &random))
  }

  mutating func handOver(_ page: LinePage, _ number: Int) {
    guard number == lineQuestionCount, lineQuestion != nil else { return }
    lineQuestion = nil
    scheduler.refill(page, now: clock)
  }

  /// What was just committed is read, now and then, before the store has told of it.
  ///
  /// A lane that wants the newest first cannot know of a newer one before it is told, so only walks
  /// for the others are so early.
  mutating func readLineBeforeTelling() {
    guard case .after = lineQuestion, let lineQuestion, chance(1, in: 4) else { return }
    handOver(page(lineQuestion), lineQuestionCount)
    carryOutActions()
  }

  private func page(_ question: LineQuestion) -> LinePage {
    switch question {
    case .after(let serial): store.page(after: serial, countMax: 16)
    case .before(let serial): store.page(before: serial, countMax: 16)
    }
  }
}

import Synchronization
import Testing

@testable import RelayServer

@Suite("Steps of an operation in one lane", .timeLimit(.minutes(5)))
struct LaneStepTests {
  private final class Course: Sendable {
    private let numbers = Mutex<[Int]>([])

    var passed: [Int] { numbers.withLock { $0 } }

    func note(_ number: Int) { numbers.withLock { $0.append(number) } }
  }

  @Test("each begins once the one before it has passed, whichever comes first")
  func order() async {
    let course = Course()
    var steps: [LaneStep] = []
    for _ in 0..<200 { steps.append(LaneStep(after: steps.last)) }
    await withTaskGroup(of: Void.self) { group in
      for (number, step) in steps.enumerated().shuffled() {
        group.addTask {
          await step.begin()
          course.note(number)
          step.pass()
          // What has passed once has passed.
          step.pass()
        }
      }
    }
    #expect(course.passed == Array(0..<200))
  }
}

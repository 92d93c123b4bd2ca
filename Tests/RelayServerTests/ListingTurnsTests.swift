import RelayCore
import Synchronization
import Testing

@testable import RelayServer

@Suite("Turns to read a listing", .timeLimit(.minutes(5)))
struct ListingTurnsTests {
  private let turns = ListingTurns(atOnceMax: 3)
  private let course = Course()

  @Test("no more have a turn at once than may, and all come to theirs")
  func bounded() async {
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask { [turns, course] in
          // Those who ask again find others that wait.
          for _ in 0..<5 {
            guard (try? await turns.begin()) != nil else { continue }
            course.begin(number)
            await Task.yield()
            course.end()
            turns.end()
          }
        }
      }
    }
    #expect(course.served.count == 1000)
    #expect((1...3).contains(course.most))
  }

  @Test("who has waited for the longest is next")
  func inOrder() async throws {
    for _ in 0..<3 { try await turns.begin() }
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<5 {
      tasks.append(
        Task { [turns, course] in
          try await turns.begin()
          course.begin(number)
          turns.end()
        })
      while turns.waitingCount <= number { await Task.yield() }
    }
    turns.end()
    for task in tasks { try await task.value }
    #expect(course.served == [0, 1, 2, 3, 4])
  }

  @Test("who waits in vain is told why, and leaves the turns to those who come then")
  func refused() async throws {
    for _ in 0..<3 { try await turns.begin() }
    let trouble = StoreError(
      kind: .inputOutput, operation: "read", subject: "the store", detail: "it stands still")
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<5 {
      tasks.append(Task { [turns] in try await turns.begin() })
      while turns.waitingCount <= number { await Task.yield() }
    }
    turns.refuse(trouble)
    for task in tasks { await #expect(throws: trouble) { try await task.value } }
    #expect(turns.waitingCount == 0)
    let next = Task { [turns] in try await turns.begin() }
    while turns.waitingCount == 0 { await Task.yield() }
    turns.end()
    try await next.value
  }

  /// Who had a turn, and how many at once.
  private final class Course: Sendable {
    private let state = Mutex((served: [Int](), now: 0, most: 0))

    var served: [Int] { state.withLock { $0.served } }
    var most: Int { state.withLock { $0.most } }

    func begin(_ number: Int) {
      state.withLock { state in
        state.served.append(number)
        state.now += 1
        state.most = max(state.most, state.now)
      }
    }

    func end() { state.withLock { $0.now -= 1 } }
  }
}

import EventLoop
import HTTPServer
import Testing

@testable import RelayServer

@Suite("Memory of an answer that is on its way")
struct HeldMemoryTests {
  private static let answerBytes = 200_000

  @Test("it is counted until the answer is gone, and no more of it than the answer takes")
  func held() async throws {
    let budget = MemoryBudget(bytesMax: 1_000_000)
    var memory = MemoryReservation(budget, .unix, client: nil)
    try memory.take(2 * Self.answerBytes)
    var response: HTTPResponse? = HTTPResponse.freshJSON(
      [UInt8](repeating: 0x20, count: Self.answerBytes), holding: memory.handOver(Self.answerBytes))
    memory.giveBack()
    // A large one may not use the last quarter.
    #expect(!budget.reserve(750_000 - Self.answerBytes + 1))
    #expect(budget.reserve(750_000 - Self.answerBytes))
    budget.release(750_000 - Self.answerBytes)
    guard case .source(let length, let next)? = response?.body else {
      Issue.record("the answer is not sent in pieces")
      return
    }
    var byteCount = 0
    while let piece = try await next() { byteCount += piece.count }
    #expect(length == Int64(Self.answerBytes) && byteCount == Self.answerBytes)
    response = nil
  }

  @Test("it is free again once the answer is gone")
  func freed() throws {
    let budget = MemoryBudget(bytesMax: 1_000_000)
    var memory = MemoryReservation(budget, .unix, client: nil)
    try memory.take(Self.answerBytes)
    var response: HTTPResponse? = HTTPResponse.freshJSON(
      [UInt8](repeating: 0x20, count: Self.answerBytes), holding: memory.handOver(Self.answerBytes))
    memory.giveBack()
    withExtendedLifetime(response) {}
    response = nil
    #expect(budget.reserve(750_000))
  }
}

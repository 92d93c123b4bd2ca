import RelayCore
import RelayServer
import Testing

@Suite("How long the janitor waits for ends to be on disk")
struct EndPatienceTests {
  private let start = MonotonicTime(nanoseconds: 5_000_000_000)

  private func waits(for count: Int, after milliseconds: Int64) -> Bool {
    EndPatience(from: start).waits(for: count, at: start.adding(milliseconds: milliseconds))
  }

  @Test("until they are there, and for no longer")
  func whileThereAreAny() {
    #expect(waits(for: 1, after: 0))
    #expect(!waits(for: 0, after: 0))
  }

  @Test("for ten seconds, so that a few which do not get there hold up no other deadlines")
  func few() {
    for count in [1, EndPatience.countMax - 1] {
      #expect(waits(for: count, after: 9999))
      #expect(!waits(for: count, after: 10_000))
    }
  }

  @Test("without a limit where there are as many as a step finds, so that they become no more")
  func many() {
    for count in [EndPatience.countMax, 100_000] { #expect(waits(for: count, after: 1 << 40)) }
  }
}

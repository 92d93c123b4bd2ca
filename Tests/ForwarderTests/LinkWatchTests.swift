import EventLoop
import RelayCore
import Testing

@testable import Forwarder

@Suite("whether another relay can still be heard")
struct LinkWatchTests {
  private func time(_ milliseconds: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1).adding(milliseconds: milliseconds)
  }

  @Test("nothing is looked at while no answer is awaited")
  func idle() {
    var watch = LinkWatch()
    #expect(watch.step(at: time(0)) == .wait(milliseconds: nil))
    watch.hear(at: time(10))
    #expect(watch.step(at: time(99_999)) == .wait(milliseconds: nil))
  }

  @Test("one that is silent while an answer is awaited is asked, and given up if it stays so")
  func silent() {
    var watch = LinkWatch()
    watch.expect(at: time(0))
    // Those that come later do not put it off.
    watch.expect(at: time(2_000))
    #expect(watch.step(at: time(2_000)) == .wait(milliseconds: 1_000))
    #expect(watch.step(at: time(3_000)) == .ask)
    #expect(watch.step(at: time(3_000)) == .wait(milliseconds: 5_000))
    #expect(watch.step(at: time(8_000)) == .giveUp)
    #expect(watch.step(at: time(8_000)) == .wait(milliseconds: nil))
  }

  @Test("whatever comes of it says that it can be heard")
  func heard() {
    var watch = LinkWatch()
    watch.expect(at: time(0))
    watch.hear(at: time(2_900))
    #expect(watch.step(at: time(3_000)) == .wait(milliseconds: 2_900))
    #expect(watch.step(at: time(5_900)) == .ask)
    watch.hear(at: time(6_000))
    #expect(watch.step(at: time(6_000)) == .wait(milliseconds: 3_000))
    watch.rest()
    #expect(watch.step(at: time(99_000)) == .wait(milliseconds: nil))
  }
}

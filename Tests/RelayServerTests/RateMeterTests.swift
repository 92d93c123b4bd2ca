import RelayCore
import RelayServer
import Testing

@Suite("Rates")
struct RateMeterTests {
  private func at(_ second: Int64) -> MonotonicTime {
    MonotonicTime(nanoseconds: second * 1_000_000_000)
  }

  @Test("a rate is the average of the last minute, and what is older is forgotten")
  func window() {
    let meter = RateMeter()
    meter.count(.accepted, 120, at: at(1000))
    meter.count(.accepted, 60, at: at(1030))
    meter.count(.delivered, at: at(1030))
    #expect(meter.perSecond(.accepted, at: at(1030)) == 3)
    #expect(meter.perSecond(.accepted, at: at(1059)) == 3)
    #expect(meter.perSecond(.accepted, at: at(1060)) == 1)
    #expect(meter.perSecond(.accepted, at: at(1090)) == 0)
    #expect(meter.perSecond(.failed, at: at(1090)) == 0)
  }

  @Test("after a long silence nothing old is left")
  func silence() {
    let meter = RateMeter()
    meter.count(.attempts, 60, at: at(5))
    meter.count(.attempts, 60, at: at(1_000_000))
    #expect(meter.perSecond(.attempts, at: at(1_000_000)) == 1)
  }
}

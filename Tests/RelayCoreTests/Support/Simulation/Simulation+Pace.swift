@testable import RelayCore

extension Simulation {
  /// The requests to the upstream that has a rate, since the relay's start.
  struct PacedRequests {
    var times: [MonotonicTime] = []
  }

  /// The most requests over which the rate is checked.
  private static let pacedMax = 100

  /// An upstream with a rate gets no more than its burst, and what the rate lets pass since.
  mutating func checkPace(of upstream: UpstreamNumber) {
    guard let rate = Self.policies[upstream]?.rate else { return }
    paced.times.append(clock.monotonic)
    if paced.times.count > Self.pacedMax { paced.times.removeFirst() }
    for (count, time) in paced.times.reversed().enumerated() where count >= rate.burst {
      let leastMs = Double(count + 1 - rate.burst) * 1000 / rate.perSecond
      let elapsedMs = clock.monotonic.milliseconds(since: time)
      // The clock is read in whole milliseconds.
      if Double(elapsedMs) < leastMs - 1 {
        violate("\(count + 1) requests within \(elapsedMs) ms")
      }
    }
  }
}

@testable import RelayCore

extension Simulation {
  /// The requests to the upstreams that have a rate, since the relay's start.
  struct PacedRequests {
    var times: [UpstreamNumber: [MonotonicTime]] = [:]
  }

  /// The most requests over which the rate is checked.
  private static let pacedMax = 100

  /// An upstream with a rate gets no more than its burst, and what the rate lets pass since.
  mutating func checkPace(of upstream: UpstreamNumber) {
    guard let rate = Self.policies[upstream]?.rate else { return }
    var times = paced.times[upstream] ?? []
    times.append(clock.monotonic)
    if times.count > Self.pacedMax { times.removeFirst() }
    paced.times[upstream] = times
    for (count, time) in times.reversed().enumerated() where count >= rate.burst {
      let leastMs = Double(count + 1 - rate.burst) * 1000 / rate.perSecond
      let elapsedMs = clock.monotonic.milliseconds(since: time)
      // The clock is read in whole milliseconds.
      if Double(elapsedMs) < leastMs - 1 {
        violate("\(count + 1) requests within \(elapsedMs) ms")
      }
    }
  }
}

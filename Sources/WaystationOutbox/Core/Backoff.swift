/// How long to wait after a failure: decorrelated jitter, so that devices that failed together do
/// not come back together.
///
/// Each wait is random between the shortest and three times the last one
/// (<https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>).
struct Backoff: Sendable, Equatable {
  /// The shortest wait, in milliseconds.
  let minMs: Int64
  private let maxMs: Int64
  private var lastMs: Int64

  /// Waits within a range.
  init(_ range: ClosedRange<Duration>) {
    minMs = max(1, range.lowerBound.milliseconds)
    maxMs = max(minMs, range.upperBound.milliseconds)
    lastMs = minMs
  }

  /// The next wait, in milliseconds.
  mutating func next(random: UInt64) -> Int64 {
    let most = min(maxMs, lastMs.multipliedReportingOverflow(by: 3).overflow ? maxMs : lastMs * 3)
    let span = UInt64(max(0, most - minMs)) + 1
    lastMs = minMs + Int64(random % span)
    return lastMs
  }

  /// The next wait is short again.
  mutating func reset() { lastMs = minMs }
}

/// The waits of an envelope between attempts: exponential backoff with full jitter.
///
/// Full jitter (a wait drawn evenly from zero to the bound) spreads out lanes that failed together.
package struct RetryPolicy: Hashable, Sendable {
  /// The bound of the first wait, in milliseconds; at least 1.
  package var firstDelayMs: Int64
  /// The bound that no wait exceeds, in milliseconds; at least ``firstDelayMs``.
  package var maxDelayMs: Int64
  /// The factor by which the bound grows with each failure; at least 1.
  package var factor: Double
  /// The longest wait that an upstream can ask for by `Retry-After`, in milliseconds.
  package var retryAfterMaxMs: Int64

  /// One second at first, doubled up to a quarter of an hour; `Retry-After` up to an hour.
  package static let standard = RetryPolicy(
    firstDelayMs: 1000, maxDelayMs: 900_000, factor: 2, retryAfterMaxMs: 3_600_000)

  /// Sets all of it.
  package init(firstDelayMs: Int64, maxDelayMs: Int64, factor: Double, retryAfterMaxMs: Int64) {
    precondition(firstDelayMs >= 1 && maxDelayMs >= firstDelayMs && factor >= 1)
    precondition(retryAfterMaxMs >= 0)
    self.firstDelayMs = firstDelayMs
    self.maxDelayMs = maxDelayMs
    self.factor = factor
    self.retryAfterMaxMs = retryAfterMaxMs
  }

  /// The wait after the given number of failures in a row, in milliseconds.
  ///
  /// - Parameters:
  ///   - failures: At least 1.
  ///   - retryAfterMs: The wait that the upstream asked for. It is honoured up to
  ///     ``retryAfterMaxMs``, and lengthened by a random part of a first wait, so that lanes told
  ///     the same time do not all come back at one moment. One that asks for no wait, or for a time
  ///     that has passed, says nothing: its lanes would come back at once, for ever.
  package func delayMs(
    afterFailures failures: Int, retryAfterMs: Int64?, random: inout some RandomNumberGenerator
  ) -> Int64 {
    guard let retryAfterMs, retryAfterMs > 0 else {
      return Int64.random(in: 0...boundMs(afterFailures: failures), using: &random)
    }
    let asked = min(retryAfterMs, retryAfterMaxMs)
    return asked.addingSaturated(Int64.random(in: 0...firstDelayMs, using: &random))
  }

  /// The longest wait after any failure, in milliseconds.
  package var longestDelayMs: Int64 {
    max(maxDelayMs, retryAfterMaxMs.addingSaturated(firstDelayMs))
  }

  /// The longest wait after the given number of failures in a row, in milliseconds.
  package func boundMs(afterFailures failures: Int) -> Int64 {
    var bound = Double(firstDelayMs)
    for _ in 1..<max(failures, 1) {
      if factor == 1 || bound >= Double(maxDelayMs) { break }
      bound *= factor
    }
    // Not every Int64 is a Double: comparing first keeps the conversion in range.
    return bound >= Double(maxDelayMs) ? maxDelayMs : Int64(bound)
  }
}

import RelayCore

/// After how many seconds a sender is asked to come again.
///
/// Those who were sent away together must not come back together, so what is not one client's own
/// affair is drawn at random.
package enum RetryHint {
  /// The wait in seconds if the relay has too much to do just now.
  package static let overloadSeconds = 5
  /// The wait in seconds if an attempt is under way.
  package static let deliveringSeconds = 1
  /// The wait in seconds if room has to be made, or something mended.
  package static let troubleSeconds = 30
  /// The least that is said where it is not known when there is room.
  static let leastSeconds = 5
  /// The most that is said, before it is spread.
  static let mostSeconds = 120

  /// Between so many seconds and three times as many.
  package static func spread(_ seconds: Int) -> Int { Int.random(in: seconds...(3 * seconds)) }

  /// The wait in seconds until a post that exceeded a quota may fit.
  ///
  /// For what waits it is an estimate: at the rate at which envelopes were delivered lately, and if
  /// every client has its share in that, so long until the next one of these leaves.
  ///
  /// - Parameters:
  ///   - waiting: How many envelopes wait under that quota.
  ///   - total: How many wait in all.
  ///   - deliveredPerSecond: Of all clients, over the last minute.
  package static func seconds(
    for refusal: QuotaRefusal, waiting: Int, total: Int, deliveredPerSecond: Double
  ) -> Int {
    if let waitMs = refusal.waitMs {
      let seconds = Int((waitMs + 999) / 1000)
      return refusal.isOfClient ? max(1, seconds) : spread(max(1, seconds))
    }
    return untilRoom(waiting: waiting, total: total, deliveredPerSecond: deliveredPerSecond)
  }

  /// The wait in seconds until one of some waiting envelopes has left; the parameters are those of
  /// ``seconds(for:waiting:total:deliveredPerSecond:)``.
  package static func untilRoom(waiting: Int, total: Int, deliveredPerSecond: Double) -> Int {
    guard deliveredPerSecond > 0, waiting > 0 else { return spread(troubleSeconds) }
    let estimate = Double(max(total, waiting)) / Double(waiting) / deliveredPerSecond
    return spread(Int(min(max(estimate, Double(leastSeconds)), Double(mostSeconds)).rounded(.up)))
  }
}

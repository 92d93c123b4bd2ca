/// What was seen within the last quarter of an hour, to tell what grows.
///
/// A pure value, told of facts once in a while; its size is bounded by the number of upstreams.
package struct NeedGrowth: Sendable {
  private struct Sample: Sendable {
    var at: WallTime
    var waiting: [String: Int]
    var roomBytes: Int64?
    var quotaRefusals: [String: Int]
  }

  /// The least time between two samples, in milliseconds.
  private static let stepMs: Int64 = 30_000

  private var samples: [Sample] = []

  /// Has seen nothing.
  package init() {}

  /// Notes facts, if the last ones are old enough.
  package mutating func note(_ facts: NeedFacts) {
    if let last = samples.last {
      let sinceMs = facts.now.milliseconds(since: last.at)
      // A clock that was set back makes all that was seen worthless.
      if sinceMs < 0 { samples = [] } else if sinceMs < Self.stepMs { return }
    }
    samples.removeAll { facts.now.milliseconds(since: $0.at) > NeedLimits.growthMs }
    var waiting: [String: Int] = [:]
    for upstream in facts.upstreams { waiting[upstream.name] = upstream.waiting }
    samples.append(
      Sample(
        at: facts.now, waiting: waiting, roomBytes: facts.roomBytes,
        quotaRefusals: facts.quotaRefusals))
  }

  /// How much more waits for an upstream than at the beginning of what was seen, and since when;
  /// nil if it does not grow.
  ///
  /// What has come at once and becomes less is no growth, and neither is what came just now: both
  /// are what a relay is for.
  func backlog(
    of upstream: String, _ waiting: Int, at now: WallTime
  ) -> (more: Int, since: WallTime)? {
    guard let first = samples.first, let before = first.waiting[upstream] else { return nil }
    func isMore(_ waiting: Int) -> Bool {
      waiting - before >= NeedLimits.growthMin
        && waiting * 100 >= before * NeedLimits.growthPercent
    }
    // The first sample is no more than itself.
    let begin = samples.lastIndex { !isMore($0.waiting[upstream] ?? 0) } ?? 0
    let most = samples[begin...].map { $0.waiting[upstream] ?? 0 }.max() ?? 0
    guard isMore(waiting), now.milliseconds(since: samples[begin].at) >= NeedLimits.growthMinMs,
      waiting * 100 >= most * NeedLimits.growthRestPercent
    else { return nil }
    return (waiting - before, samples[begin].at)
  }

  /// How many refusals by a quota there were within what was seen.
  func quotaRefusals(_ name: String, _ count: Int) -> Int {
    guard let first = samples.first else { return 0 }
    return count - (first.quotaRefusals[name] ?? 0)
  }

  /// How long the room lasts at the pace of what was seen, in milliseconds.
  func roomEndsInMs(_ left: Int64, at now: WallTime) -> Int64 {
    guard let first = samples.first, let before = first.roomBytes, before > left else {
      return .max
    }
    let passedMs = now.milliseconds(since: first.at)
    guard passedMs >= NeedLimits.growthMinMs else { return .max }
    return Int64(Double(left) / Double(before - left) * Double(passedMs))
  }
}

@testable import RelayCore

extension Scheduler {
  /// A whole survey, made in pieces of so many slots.
  func survey(piece countMax: Int = 3, backlogsMax: Int = 20) -> LaneSurvey {
    var survey = LaneSurvey(backlogsMax: backlogsMax)
    while !survey.isOver { advance(&survey, countMax: countMax) }
    return survey
  }

  /// All configured upstreams, by what all lanes show now.
  func upstreamViews(
    at now: MonotonicTime = MonotonicTime(nanoseconds: 0)
  ) -> [UpstreamNumber: UpstreamView] { upstreamViews(survey(), at: now) }

  /// All others that something waits for, by what all lanes show now.
  func unconfiguredViews() -> [UpstreamNumber: UnconfiguredView] { unconfiguredViews(survey()) }
}

extension ManualRelay {
  /// How many wait for the upstream; nil if it is not configured.
  var waiting: Int? { scheduler.upstreamViews()[Self.upstream]?.waiting }

  func phase(of lane: Int64) -> Lane.Phase? {
    scheduler.lane(LaneNumber(rawValue: lane))?.phase
  }
}

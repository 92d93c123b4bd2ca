import RelayCore

extension MetricsView {
  /// What became of attempts and envelopes.
  func writeDeliveries(to writer: inout ExpositionWriter) {
    writer.begin(.counter, "waystation_ended_envelopes", "Envelopes that have ended, by how.")
    for upstream in deliveries.upstreams {
      for state in EnvelopeState.allCases where state.isEnd {
        writer.sample(
          ("upstream", upstream.name), ("state", state.rawValue),
          value: upstream.ends[state] ?? 0)
      }
    }
    writer.begin(
      .histogram, "waystation_delivery_delay_seconds",
      "How long it took from an envelope's acceptance to its delivery.")
    for upstream in deliveries.upstreams {
      writer.histogram(("upstream", upstream.name), value: upstream.deliveries)
    }
    writeAttempts(to: &writer)
  }

  private func writeAttempts(to writer: inout ExpositionWriter) {
    writer.begin(.counter, "waystation_attempts", "Attempts that have ended, by what they showed.")
    for upstream in deliveries.upstreams {
      for outcome in Outcome.allCases {
        writer.sample(
          ("upstream", upstream.name), ("outcome", outcome.rawValue),
          value: upstream.attempts[outcome]?.count ?? 0)
      }
    }
    writer.begin(
      .histogram, "waystation_attempt_duration_seconds",
      "How long attempts took; an outcome is shown once there was one.")
    for upstream in deliveries.upstreams {
      for outcome in Outcome.allCases {
        guard let durations = upstream.attempts[outcome] else { continue }
        writer.histogram(
          ("upstream", upstream.name), ("outcome", outcome.rawValue), value: durations)
      }
    }
  }

  /// How the upstreams are.
  func writeUpstreams(to writer: inout ExpositionWriter) {
    writeWaiting(to: &writer)
    gauge(
      "waystation_upstream_reachable", "1 while its lanes may try, 0 while only a probe does.",
      to: &writer
    ) { $0.isReachable ? 1 : 0 }
    gauge("waystation_upstream_paused", "1 while somebody has paused it, else 0.", to: &writer) {
      $0.isPaused ? 1 : 0
    }
    gauge("waystation_upstream_in_flight_attempts", "Attempts that are under way.", to: &writer) {
      $0.inFlight
    }
    gauge(
      "waystation_upstream_concurrency",
      "How many attempts may be under way now; fewer than the limit while it ramps up.",
      to: &writer
    ) { $0.concurrency.now }
    gauge(
      "waystation_upstream_concurrency_limit", "How many attempts may ever be under way.",
      to: &writer
    ) { $0.concurrency.max }
    writer.begin(
      .gauge, "waystation_blocked_lanes", "Lanes that stand until somebody resolves their heads.")
    writer.sample(value: blockedLaneCount)
  }

  private func writeWaiting(to writer: inout ExpositionWriter) {
    writer.begin(
      .gauge, "waystation_upstream_waiting_envelopes",
      "Envelopes that wait for it, those in flight included.")
    for upstream in upstreams {
      writer.sample(("upstream", upstream.name), value: upstream.view.waiting)
    }
    writer.sample(("upstream", MetricsLimits.otherUpstream), value: others.waiting)
    writer.begin(
      .gauge, "waystation_upstream_oldest_waiting_age_seconds",
      "How long ago the oldest head of a lane was accepted; 0 where none waits.")
    for upstream in upstreams {
      writer.sample(
        ("upstream", upstream.name), value: ageSeconds(of: upstream.view.oldestWaitingAt))
    }
    writer.sample(
      ("upstream", MetricsLimits.otherUpstream), value: ageSeconds(of: others.oldestWaitingAt))
  }

  private func gauge(
    _ name: StaticString, _ help: StaticString, to writer: inout ExpositionWriter,
    _ value: (Scheduler.UpstreamView) -> Int
  ) {
    writer.begin(.gauge, name, help)
    for upstream in upstreams {
      writer.sample(("upstream", upstream.name), value: value(upstream.view))
    }
  }

  private func ageSeconds(of time: WallTime?) -> Double {
    time.map { Double(max(0, now.milliseconds(since: $0))) / 1000 } ?? 0
  }
}

import RelayCore

extension MetricFamily {
  /// Attempts and envelopes by their results.
  static let deliveries: [MetricFamily] = [
    MetricFamily(
      .counter, "waystation_ended_envelopes", ["upstream", "state"],
      "Ends of envelopes, by how; one that is put back in line or given up later ends again."
    ) { view, writer in
      for upstream in view.deliveries.upstreams {
        for state in EnvelopeState.allCases where state.isEnd {
          writer.sample(upstream.name, state.rawValue, value: upstream.ends[state] ?? 0)
        }
      }
    },
    MetricFamily(
      .histogram, "waystation_delivery_delay_seconds", ["upstream"],
      "How long it took from an envelope's acceptance to its delivery."
    ) { view, writer in
      for upstream in view.deliveries.upstreams {
        writer.histogram(upstream.name, value: upstream.deliveries)
      }
    },
    MetricFamily(
      .counter, "waystation_attempts", ["upstream", "outcome"],
      "Attempts that have ended, by what they showed."
    ) { view, writer in
      for upstream in view.deliveries.upstreams {
        for outcome in Outcome.allCases {
          let count = upstream.attempts[outcome]?.count ?? 0
          writer.sample(upstream.name, outcome.rawValue, value: count)
        }
      }
    },
    MetricFamily(
      .counter, "waystation_batch_requests", ["upstream"],
      "Requests in which envelopes went together."
    ) { view, writer in
      for upstream in view.deliveries.upstreams {
        writer.sample(upstream.name, value: upstream.batchRequests)
      }
    },
    MetricFamily(
      .counter, "waystation_batched_envelopes", ["upstream"], "Envelopes in such requests."
    ) { view, writer in
      for upstream in view.deliveries.upstreams {
        writer.sample(upstream.name, value: upstream.batchedEnvelopes)
      }
    },
    MetricFamily(
      .histogram, "waystation_attempt_duration_seconds", ["upstream", "outcome"],
      "How long attempts took; an outcome is shown once there was one."
    ) { view, writer in
      for upstream in view.deliveries.upstreams {
        for outcome in Outcome.allCases {
          guard let durations = upstream.attempts[outcome] else { continue }
          writer.histogram(upstream.name, outcome.rawValue, value: durations)
        }
      }
    },
  ]

  /// The states of upstreams.
  static let upstreams: [MetricFamily] = [
    MetricFamily(
      .gauge, "waystation_upstream_waiting_envelopes", ["upstream"],
      "Envelopes that wait for it, those in flight included."
    ) { view, writer in
      for upstream in view.upstreams {
        writer.sample(upstream.name, value: upstream.view.waiting)
      }
      writer.sample(MetricsLimits.otherUpstream, value: view.others.waiting)
    },
    MetricFamily(
      .gauge, "waystation_upstream_oldest_waiting_age_seconds", ["upstream"],
      "How long ago the oldest head of a lane was accepted; 0 where none waits."
    ) { view, writer in
      for upstream in view.upstreams {
        let age = view.ageSeconds(of: upstream.view.oldestWaitingAt)
        writer.sample(upstream.name, value: age)
      }
      writer.sample(
        MetricsLimits.otherUpstream, value: view.ageSeconds(of: view.others.oldestWaitingAt))
    },
    upstream(
      "waystation_upstream_reachable", "1 while its lanes may try, 0 while only a probe does."
    ) { $0.isReachable ? 1 : 0 },
    upstream("waystation_upstream_paused", "1 while somebody has paused it, else 0.") {
      $0.isPaused ? 1 : 0
    },
    upstream("waystation_upstream_in_flight_attempts", "Attempts that are under way.") {
      $0.inFlight
    },
    upstream(
      "waystation_upstream_concurrency",
      "How many attempts may be under way now; fewer than the limit while it ramps up."
    ) { $0.concurrency.now },
    upstream(
      "waystation_upstream_concurrency_limit", "How many attempts may ever be under way."
    ) { $0.concurrency.max },
    upstream(
      "waystation_upstream_held", "1 while it has asked for a wait, and all its lanes wait; else 0."
    ) { $0.heldUntil == nil ? 0 : 1 },
    MetricFamily(
      .gauge, "waystation_upstream_requests_per_second", ["upstream"],
      "How many requests a second it is sent at most now; none where nothing limits them."
    ) { view, writer in
      for upstream in view.upstreams {
        guard let rate = upstream.view.perSecond else { continue }
        writer.sample(upstream.name, value: rate)
      }
    },
    MetricFamily(
      .gauge, "waystation_blocked_lanes", "Lanes that stand until somebody resolves their heads."
    ) { Int64($0.blockedLaneCount) },
  ]

  /// A gauge with one series for each upstream that has a label.
  private static func upstream(
    _ name: StaticString, _ help: StaticString,
    _ value: @escaping @Sendable (Scheduler.UpstreamView) -> Int
  ) -> MetricFamily {
    MetricFamily(.gauge, name, ["upstream"], help) { view, writer in
      for upstream in view.upstreams {
        writer.sample(upstream.name, value: value(upstream.view))
      }
    }
  }
}

extension MetricsView {
  fileprivate func ageSeconds(of time: WallTime?) -> Double {
    time.map { Double(max(0, now.milliseconds(since: $0))) / 1000 } ?? 0
  }
}

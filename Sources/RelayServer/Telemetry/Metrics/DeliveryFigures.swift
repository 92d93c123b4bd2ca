import RelayCore

/// Counts of attempts and envelopes by their results, for each upstream since the start.
///
/// A pure value. It is told of what is on disk, a commit at a time, and holds a fixed number of
/// series however many envelopes, lanes and clients there are.
package struct DeliveryFigures: Sendable, Equatable {
  /// The counts of one upstream.
  package struct Upstream: Sendable, Equatable {
    /// Its label.
    package let name: String
    /// The number of ends, by ``EnvelopeState``; an envelope may come to several, one after the
    /// other.
    package fileprivate(set) var ends: [EnvelopeState: UInt64] = [:]
    /// The durations of attempts in milliseconds, by outcome; outcomes that did not occur are
    /// absent.
    package fileprivate(set) var attempts: [Outcome: Histogram] = [:]
    /// The times from acceptance to delivery, in milliseconds.
    package fileprivate(set) var deliveries = Histogram(.deliveryMilliseconds)
    /// The number of requests in which envelopes went together.
    package fileprivate(set) var batchRequests: UInt64 = 0
    /// The number of envelopes in them.
    package fileprivate(set) var batchedEnvelopes: UInt64 = 0
  }

  /// Those that have a label, in the order of the configuration, and last what has none.
  package private(set) var upstreams: [Upstream]
  private var places: [UpstreamNumber: Int] = [:]

  /// Begins to count for these upstreams, in the order of the configuration.
  package init(_ names: [String] = [], numbers: [String: UpstreamNumber] = [:]) {
    let labelled = names.prefix(MetricsLimits.upstreamsMax)
    upstreams = labelled.map { Upstream(name: $0) }
    upstreams.append(Upstream(name: MetricsLimits.otherUpstream))
    for (place, name) in labelled.enumerated() {
      if let number = numbers[name] { places[number] = place }
    }
  }

  /// Begins to count for others as well; what was counted stays.
  ///
  /// One that is new has a label as long as there is room for it; so does one that was taken out of
  /// the configuration, since what it has counted must not go back.
  package mutating func add(_ names: [String], numbers: [String: UpstreamNumber]) {
    for name in names where upstreams.count <= MetricsLimits.upstreamsMax {
      guard let number = numbers[name], places[number] == nil else { continue }
      places[number] = upstreams.count - 1
      upstreams.insert(Upstream(name: name), at: upstreams.count - 1)
    }
  }

  /// These changes are on disk.
  ///
  /// An attempt counts also where nothing came of it, since its envelope had ended meanwhile.
  package mutating func count(_ transitions: [Transition]) {
    for transition in transitions {
      let place = place(of: transition.upstream)
      if let attempt = transition.attempt {
        upstreams[place].attempts[attempt.outcome, default: Histogram(.attemptMilliseconds)]
          .observe(attempt.durationMs)
      }
      guard !transition.isMoot, case .end(let state, _) = transition.change else { continue }
      upstreams[place].ends[state, default: 0] &+= 1
      guard state == .delivered, let acceptedAt = transition.acceptedAt else { continue }
      upstreams[place].deliveries.observe(transition.at.milliseconds(since: acceptedAt))
    }
  }

  /// A client's backlog was cancelled.
  package mutating func count(_ backlog: ClearedBacklog) {
    for item in backlog.items {
      upstreams[place(of: item.upstream)].ends[.cancelled, default: 0] &+= 1
    }
  }

  /// Ends are on record no more, or are others.
  ///
  /// A count never goes back. What was given up after it had ended has come to a second end.
  package mutating func count(_ changes: [EndChange]) {
    for change in changes where change.result == .cancelled {
      upstreams[place(of: change.upstream)].ends[.cancelled, default: 0] &+= 1
    }
  }

  /// A request with several envelopes was begun.
  package mutating func countBatch(of envelopes: Int, to upstream: UpstreamNumber) {
    let place = place(of: upstream)
    upstreams[place].batchRequests &+= 1
    upstreams[place].batchedEnvelopes &+= UInt64(envelopes)
  }

  private func place(of upstream: UpstreamNumber) -> Int {
    places[upstream] ?? upstreams.count - 1
  }
}

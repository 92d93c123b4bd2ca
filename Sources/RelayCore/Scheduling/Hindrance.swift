/// What keeps an envelope waiting that is queued, besides its turn and a time of its own.
package struct Hindrance: Sendable, Equatable {
  /// A cause that somebody or something has to end.
  package enum Cause: String, Sendable, CaseIterable {
    /// Somebody has paused its client.
    case clientPaused = "client-paused"
    /// Somebody has paused its lane.
    case lanePaused = "lane-paused"
    /// Its upstream is not in the configuration.
    case upstreamNotConfigured = "upstream-not-configured"
    /// Somebody has paused its upstream.
    case upstreamPaused = "upstream-paused"
    /// Its upstream is unreachable.
    case upstreamUnreachable = "upstream-unreachable"
    /// Its upstream has asked for a wait.
    case upstreamHeld = "upstream-held"
    /// Another envelope heads its lane, and nothing else keeps this one.
    case earlier
  }

  /// The first of the causes, in their order.
  package var cause: Cause
  /// The envelope that heads its lane; nil if that is itself.
  package var behind: Serial?
}

extension Scheduler {
  /// What keeps a queued envelope waiting.
  ///
  /// - Parameter upstream: The one that it goes to; nil if the configuration has none of its name.
  /// - Returns: nil if it is under way, or only its turn or a time of its own keeps it.
  package func hindrance(
    of serial: Serial, in number: LaneNumber, to upstream: UpstreamNumber?, at now: MonotonicTime
  ) -> Hindrance? {
    guard let lane = lanes[number], inFlight[serial] == nil else { return nil }
    let head = lane.head.flatMap { $0.serial == serial ? nil : $0.serial }
    let cause =
      pause(of: number, lane.client) ?? trouble(of: upstream, at: now)
      ?? (head == nil ? nil : .earlier)
    return cause.map { Hindrance(cause: $0, behind: head) }
  }

  private func pause(of lane: LaneNumber, _ client: ClientNumber) -> Hindrance.Cause? {
    if paused.contains(.client(client)) { return .clientPaused }
    return paused.contains(.lane(lane)) ? .lanePaused : nil
  }

  private func trouble(of number: UpstreamNumber?, at now: MonotonicTime) -> Hindrance.Cause? {
    guard let number, isConfigured(number), let upstream = upstreams[number] else {
      return .upstreamNotConfigured
    }
    if paused.contains(.upstream(number)) { return .upstreamPaused }
    guard upstream.reachability.isReachable else { return .upstreamUnreachable }
    return upstream.pace.heldUntil(at: now) == nil ? nil : .upstreamHeld
  }
}

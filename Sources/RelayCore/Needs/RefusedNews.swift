/// The messages of what needs somebody that were refused since the last one that was taken.
///
/// A pure value: it is told of what is accepted, by which it knows the lane of the messages, and of
/// committed transitions. One that is taken tells the whole list, so those before it are settled.
package struct RefusedNews: Sendable {
  /// The client whose envelopes the messages are, and their lane.
  package static let lane = LaneName(client: "waystation", lane: "needs")
  /// The header field of a stored message that no sender's envelope can have, and that is not sent.
  ///
  /// Its value is the message's occasion.
  package static let mark: StaticString = "Waystation-Needs"

  /// Messages that ended as dead letters.
  package struct DeadLetters: Sendable, Equatable {
    /// Their number.
    package var count = 0
    /// When the first of them ended.
    package var since: WallTime
    /// The latest.
    package var serial: Serial
    /// When that one ended.
    package var at: WallTime
    /// The upstream that refused it.
    package var upstream: UpstreamNumber
    /// The status that it answered; nil if it was not asked.
    package var status: Int?
    /// The reason in words.
    package var reason: String
  }

  /// The store's number of the lane; nil until something was accepted in it.
  package private(set) var laneNumber: LaneNumber?
  /// The dead letters; nil if there are none.
  package private(set) var deadLetters: DeadLetters?

  /// Knows nothing yet.
  package init() {}

  /// Notes an envelope that was accepted.
  package mutating func accepted(_ envelope: AcceptedEnvelope) {
    guard envelope.client == Self.lane.client, envelope.draft?.lane == Self.lane.lane else {
      return
    }
    laneNumber = envelope.entry.lane
  }

  /// Notes committed transitions.
  package mutating func changed(_ transitions: [Transition]) {
    guard let laneNumber else { return }
    for transition in transitions where transition.lane == laneNumber && !transition.isMoot {
      note(transition)
    }
  }

  private mutating func note(_ transition: Transition) {
    switch transition.change {
    case .end(.delivered, _): deadLetters = nil
    case .end(.failed, let reason):
      // What a person discards needs nobody.
      guard let attempt = transition.attempt else { return }
      deadLetters = DeadLetters(
        count: (deadLetters?.count ?? 0) + 1, since: deadLetters?.since ?? transition.at,
        serial: transition.serial, at: transition.at, upstream: transition.upstream,
        status: attempt.status, reason: reason)
    case .end, .begin, .retry, .block, .release, .edit, .requeue: break
    }
  }

  /// Notes ends that are on record no more, or not as they were: those dead letters need nobody.
  package mutating func endsChanged(_ changes: [EndChange]) {
    for change in changes where change.lane == laneNumber && change.state == .failed {
      // Those that ended before were never counted.
      guard change.isTried, let letters = deadLetters, change.endedAt >= letters.since else {
        continue
      }
      deadLetters?.count -= 1
      if deadLetters?.count == 0 { deadLetters = nil }
    }
  }
}

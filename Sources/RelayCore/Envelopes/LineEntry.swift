/// An envelope's place in the line: what scheduling needs to know while it waits.
package struct LineEntry: Hashable, Sendable {
  /// The envelope's number: its place in the order of acceptance.
  package var serial: Serial
  /// The client that sent it.
  package var client: ClientNumber
  /// The lane that it stands in.
  package var lane: LaneNumber
  /// The upstream that it goes to.
  package var upstream: UpstreamNumber
  /// The time of acceptance.
  package var acceptedAt: WallTime
  /// The time at which it ends as `expired`.
  package var expiresAt: WallTime
  /// Whether it may be attempted at all.
  package var standing: Standing
  /// The effect on the lane if it is refused.
  package var onFailure: FailurePolicy
  /// The earliest time for an attempt, whether by the sender's wish or by backoff; nil for at once.
  package var dueAt: WallTime?
  /// The number of recorded attempts.
  package var attempts: Int32
  /// Whether the upstream may have it already; see ``AmbiguityPolicy``.
  package var isInDoubt: Bool

  /// Describes an envelope's place; see the properties for what each part means.
  package init(
    serial: Serial, client: ClientNumber, lane: LaneNumber, upstream: UpstreamNumber,
    acceptedAt: WallTime, expiresAt: WallTime, standing: Standing = .queued,
    onFailure: FailurePolicy = .skip, dueAt: WallTime? = nil, attempts: Int32 = 0,
    isInDoubt: Bool = false
  ) {
    self.serial = serial
    self.client = client
    self.lane = lane
    self.upstream = upstream
    self.acceptedAt = acceptedAt
    self.expiresAt = expiresAt
    self.standing = standing
    self.onFailure = onFailure
    self.dueAt = dueAt
    self.attempts = attempts
    self.isInDoubt = isInDoubt
  }
}

extension LineEntry {
  /// Queues it for an attempt at once: it is no longer held, blocked or waiting for a time.
  mutating func release() {
    standing = .queued
    dueAt = nil
  }

  /// Makes it wait again after it has ended, as its sender asked: held, unless it was ever
  /// attempted, and not before its time.
  ///
  /// - Parameters:
  ///   - hold: Whether it is to wait until someone runs it.
  ///   - notBefore: The sender's earliest time for an attempt; one that has passed does not count.
  package mutating func waitAgain(hold: Bool, notBefore: WallTime?, at now: WallTime) {
    standing = hold && attempts == 0 && !isInDoubt ? .held : .queued
    dueAt = notBefore.flatMap { $0 > now ? $0 : nil }
  }
}

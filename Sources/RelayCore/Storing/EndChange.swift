/// An end that is on record no more, or not as it was: of an envelope that was not delivered.
package struct EndChange: Sendable, Equatable {
  /// What became of the record.
  package enum Result: Sendable, Equatable {
    /// The envelope waits again, or was deleted once it had been kept long enough.
    case gone
    /// Somebody gave the envelope up: it counts as cancelled.
    case cancelled
    /// Somebody corrected the envelope, and it goes to another upstream if it is put back in line.
    case redirected(to: UpstreamNumber)
  }

  /// The envelope's number.
  package var serial: Serial
  /// The lane that it stood in.
  package var lane: LaneNumber
  /// The upstream that it was for.
  package var upstream: UpstreamNumber
  /// How it had ended.
  package var state: EnvelopeState
  /// When it had ended.
  package var endedAt: WallTime
  /// Whether an attempt had led to the end, rather than a person, or the time.
  package var isTried: Bool
  /// What became of the record.
  package var result: Result

  /// Describes one; see the properties for what each part means.
  package init(
    serial: Serial, lane: LaneNumber, upstream: UpstreamNumber, state: EnvelopeState,
    endedAt: WallTime, isTried: Bool, result: Result
  ) {
    self.serial = serial
    self.lane = lane
    self.upstream = upstream
    self.state = state
    self.endedAt = endedAt
    self.isTried = isTried
    self.result = result
  }
}

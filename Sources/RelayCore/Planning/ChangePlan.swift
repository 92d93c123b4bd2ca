/// What is to be written of one change of an envelope.
package struct ChangePlan: Sendable {
  /// What becomes of the envelope's place in the line.
  package enum Line: Equatable, Sendable {
    /// An attempt is noted that must not be made twice: the envelope is in doubt.
    case begin
    /// It waits until a time, in doubt if there is a reason for that.
    case retry(at: WallTime, doubt: String?)
    /// It stands still, out of doubt.
    case block(reason: String)
    /// It leaves the line.
    ///
    /// - Parameters:
    ///   - reason: The reason in words; nil for none.
    case end(EnvelopeState, reason: String?, isInDoubt: Bool)
    /// It waits for no time. A reason stays only with what is in doubt, and a hold is spent.
    case release(keepsReason: Bool, spendsHold: Bool)
    /// Its content and terms are the transition's.
    case edit
    /// It is back in line, and its end is forgotten.
    case requeue(StoredEnd)
  }

  /// The place in the line.
  package var line: Line
  /// The client that sent it.
  package var client: ClientNumber
  /// The standing that it had; nil if it had ended.
  package var former: Standing?
  /// The standing that it has from now on; nil if it ends.
  package var standing: Standing?
  /// The number of recorded attempts from now on.
  package var attempts: Int64
  /// By how much less waits of the client, if the envelope ends.
  ///
  /// For one that is corrected or put back in line that is the size of its content.
  package var use = WaitingUse()
  /// Whether the transition's attempt is added to the envelope's history.
  ///
  /// The attempt that led to an end stands with the end.
  package var keepsAttempt = false
  /// The number up to which attempts are dropped from the history; nil for none.
  package var attemptsDroppedThrough: Int64?
  /// The event to be logged; nil for none.
  package var event: EventEntry?

  /// Whether the envelope is back in line and waits for sequence numbers before its own.
  package var isParkedAgain: Bool { former == nil && standing == .parked }
}

extension Transition {
  /// Notes that what was put back in line is parked there.
  package mutating func noteParked() {
    guard case .requeue(var entry) = change else { return }
    entry.standing = .parked
    change = .requeue(entry)
  }
}

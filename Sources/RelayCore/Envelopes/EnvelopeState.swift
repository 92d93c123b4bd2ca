/// An envelope's place in its life (`docs/architecture.md` has the path of an envelope).
package enum EnvelopeState: String, Sendable, CaseIterable {
  /// Waits until someone runs it.
  case held
  /// Stands in its lane, or waits there for its next attempt.
  case queued
  /// Waits for sequence numbers before its own that have not come.
  case parked
  /// An attempt is under way. Never stored: a relay that starts finds such an envelope queued.
  case delivering
  /// Heads a lane that stands still, since the upstream refused it under the policy `block`.
  case blocked
  /// The upstream took it.
  case delivered
  /// Refused under the policy `skip`, or discarded: a dead letter, kept and ready to be requeued.
  case failed
  /// Its deadline passed before the upstream took it.
  case expired
  /// Someone took it back.
  case cancelled

  /// Whether this is one of the four ends that promise 5 speaks of.
  package var isEnd: Bool {
    switch self {
    case .delivered, .failed, .expired, .cancelled: true
    case .held, .queued, .parked, .delivering, .blocked: false
    }
  }

  /// The states of an envelope that waits.
  package static let waiting = Set(allCases.filter { !$0.isEnd })
}

/// The standing of a waiting envelope in its lane, as stored.
package enum Standing: UInt8, Sendable, CaseIterable {
  /// Attempted when its turn comes.
  case queued = 0
  /// Attempted once someone has run it.
  case held = 1
  /// Refused under the policy `block`: its lane stands until someone resolves it.
  case blocked = 2
  /// Put in line once the sequence numbers before its own have come.
  case parked = 3

  /// The state that this standing is shown as while no attempt is under way.
  package var state: EnvelopeState {
    switch self {
    case .queued: .queued
    case .held: .held
    case .blocked: .blocked
    case .parked: .parked
    }
  }
}

/// The effect on a lane whose head was refused.
package enum FailurePolicy: String, Sendable, CaseIterable {
  /// The envelope becomes a dead letter, and the lane moves on.
  case skip
  /// The lane stands until someone resolves it.
  case block
}

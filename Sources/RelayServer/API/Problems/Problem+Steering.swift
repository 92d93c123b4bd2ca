import RelayCore

// Problems with what is asked to be done with an envelope: its state does not allow it.

extension Problem {
  /// Only the head of a lane can be run.
  ///
  /// - Parameters:
  ///   - head: The head; nil if it is not known any more.
  ///   - key: Its sender's own key; nil if it has none.
  package static func behind(_ head: EnvelopeID?, key: String? = nil) -> Problem {
    var problem = Problem(
      .behind,
      "Only the head of a lane can be run, and \(head.map { "\($0)" } ?? "another one")"
        + " stands before this envelope.",
      fix: "Run, resolve or cancel the envelope before it first.")
    problem.before = head
    problem.beforeKey = key
    return problem
  }

  /// Sequence numbers before its own are missing.
  package static func parked(_ missing: MissingNumbers) -> Problem {
    var problem = ofState(
      .parked, .parked,
      missing.isEmpty
        ? "The envelope is about to be put in line."
        : "The envelope waits for sequence numbers that have not come: \(missing.words).",
      fix: missing.isEmpty ? "Try again." : "Post the missing numbers, or cancel this one.")
    problem.missing = missing
    return problem
  }

  /// It was refused, and its lane stands.
  package static func blocked() -> Problem {
    ofState(
      .blocked, .blocked, "The upstream refused the envelope, and its lane stands.",
      fix: "Correct it with PATCH if need be, and settle it with POST /v1/envelopes/{id}/resolve.")
  }

  /// The posted content is lost, so nothing can be corrected or sent.
  package static func unreadable(_ state: EnvelopeState) -> Problem {
    ofState(
      state.isEnd ? .alreadyEnded : .blocked, state,
      "The relay cannot read the envelope any more, so it cannot be corrected, nor sent again.",
      fix: state == .blocked
        ? "Give it up with POST /v1/envelopes/{id}/resolve, and post another one."
        : state.isEnd ? "Post another one." : "DELETE it, and post another one.")
  }

  /// There is nothing to resolve.
  package static func notBlocked(_ state: EnvelopeState) -> Problem {
    ofState(
      .notBlocked, state, "The envelope is \(state.rawValue), so there is nothing to resolve.",
      fix: state.isEnd
        ? "Put it back in line with POST /v1/envelopes/{id}/requeue, unless it was delivered."
        : state == .parked
          ? "Post the numbers missing before it; to cancel it, DELETE it."
          : "To have it tried now, POST /v1/envelopes/{id}/run; to take it back, DELETE it.")
  }

  /// An attempt is under way.
  package static func delivering() -> Problem {
    ofState(
      .delivering, .delivering,
      "The envelope is being delivered, and cannot be changed meanwhile.",
      fix: "Try again after Retry-After; GET /v1/envelopes/{id}?wait=20 waits for its end."
    ).retry(afterSeconds: RetryHint.deliveringSeconds)
  }

  /// The upstream may have it as it is.
  package static func inDoubt() -> Problem {
    ofState(
      .inDoubt, .queued,
      "The upstream may have the envelope already, and is yet to be asked, so it cannot be"
        + " corrected now.",
      fix: "Have the upstream asked at once with POST /v1/envelopes/{id}/run, and try again after"
        + " Retry-After; or DELETE the envelope, and post another one."
    ).retry(afterSeconds: RetryHint.deliveringSeconds)
  }

  /// It ended before anybody knew whether the upstream has it as it is.
  package static func endedInDoubt(_ state: EnvelopeState) -> Problem {
    ofState(
      .inDoubt, state,
      "The upstream may have the envelope already, and has not been asked, so it cannot be"
        + " corrected.",
      fix: "Requeue it with POST /v1/envelopes/{id}/requeue, which has the upstream asked first; or"
        + " post another one.")
  }

  /// It waits no longer.
  package static func alreadyEnded(_ state: EnvelopeState) -> Problem {
    ofState(
      .alreadyEnded, state, "The envelope is \(state.rawValue), and waits no longer.",
      fix: state == .delivered
        ? "Post a new one." : "Put it back in line first: POST /v1/envelopes/{id}/requeue.")
  }

  /// The upstream has it already.
  package static func alreadyDelivered() -> Problem {
    ofState(
      .alreadyDelivered, .delivered, "The upstream has taken the envelope.",
      fix: "To send its content once more, start an operation with the action replay.")
  }

  /// It waits already.
  package static func notEnded(_ state: EnvelopeState) -> Problem {
    ofState(
      .notEnded, state, "The envelope is \(state.rawValue): it waits in its lane already.",
      fix: fixForWaiting(state))
  }

  private static func fixForWaiting(_ state: EnvelopeState) -> String {
    switch state {
    case .blocked: "Settle it with POST /v1/envelopes/{id}/resolve."
    case .parked: "Post the numbers missing before it."
    case .held, .queued, .delivering, .delivered, .failed, .expired, .cancelled:
      "To have it tried now, POST /v1/envelopes/{id}/run."
    }
  }

  /// The change is decided, and the store cannot write just now.
  package static func delayed() -> Problem {
    Problem(
      .storeUnavailable,
      "The store cannot write just now. What was asked for will be done as soon as it can.",
      fix: "Look after Retry-After whether it is done."
    ).retry(afterSeconds: RetryHint.overloadSeconds)
  }

  /// The store is damaged where the change would stand.
  package static func unwritable() -> Problem {
    Problem(
      .storeUnavailable,
      "The store is damaged where this envelope stands, and nothing was changed.",
      fix: "Tell the operator, who finds the envelope's lane in /status; other envelopes can be"
        + " changed."
    ).retry(afterSeconds: RetryHint.troubleSeconds)
  }

  private static func ofState(
    _ kind: ProblemKind, _ state: EnvelopeState, _ detail: String, fix: String
  ) -> Problem {
    var problem = Problem(kind, detail, fix: fix)
    problem.state = state
    return problem
  }
}

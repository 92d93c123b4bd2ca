import HTTPServer
import RelayCore

// Problems that are not the sender's: there is no room, or something is broken.

extension Problem {
  /// There is no room on disk.
  package static func diskFull() -> Problem {
    Problem(
      .diskFull, "There is no room on disk. What was accepted is safe.",
      fix: "Keep the envelope and try again after Retry-After."
    ).retry(afterSeconds: RetryHint.troubleSeconds)
  }

  /// Too many connections, or too many bytes in flight.
  package static func overloaded(_ detail: String) -> Problem {
    Problem(.overloaded, detail, fix: "Keep the envelope and try again after Retry-After.")
      .retry(afterSeconds: RetryHint.spread(RetryHint.overloadSeconds))
  }

  /// A post is not taken: those before it wait too long.
  package static func overloaded(_ refusal: AdmissionControl.Refusal) -> Problem {
    switch refusal {
    case .tooMany: overloaded("As many posts wait to be stored as may.")
    case .slowStore: overloaded("Posts wait too long to be stored.")
    case .slowLoops: overloaded("Requests wait too long to be read.")
    }
  }

  /// A body was cut off on its way, since others needed the memory that it held.
  package static func gaveWay() -> Problem {
    Problem(
      .overloaded,
      "The relay is short of memory, and this body came slowly or its sender held more than its"
        + " share: it had to give way.",
      fix:
        "Keep the envelope and try again after Retry-After, in smaller posts where they are slow."
    ).retry(afterSeconds: RetryHint.spread(RetryHint.overloadSeconds))
  }

  /// The relay is shutting down.
  package static func draining() -> Problem {
    Problem(
      .draining, "Nothing new is taken. What was accepted is safe.",
      fix: "Try again after Retry-After."
    ).retry(afterSeconds: RetryHint.overloadSeconds)
  }

  /// The store cannot be read or written just now.
  package static func storeUnavailable() -> Problem {
    Problem(
      .storeUnavailable,
      "The store cannot be read or written just now. What was accepted is safe.",
      fix: "Keep the envelope and try again after Retry-After."
    ).retry(afterSeconds: RetryHint.overloadSeconds)
  }

  /// This relay is a spare, and could not pass the request on; the log says why.
  ///
  /// - Parameter mayHaveArrived: Whether the relay that has the store may have got it.
  package static func noLeader(mayHaveArrived: Bool) -> Problem {
    let fix =
      mayHaveArrived
      ? "It may have arrived: keep the envelope, and post it again with the same key after"
        + " Retry-After."
      : "Keep the envelope and try again after Retry-After."
    return Problem(
      .noLeader,
      mayHaveArrived
        ? "This relay is a spare. It passed the request on, and the answer was lost."
        : "This relay is a spare, and could not pass the request on.", fix: fix
    ).retry(afterSeconds: RetryHint.overloadSeconds)
  }

  /// The relay ends while its database has not answered.
  ///
  /// Of the same type as other trouble of the store's: a sender does the same about it.
  package static func storeOutcomeUnknown() -> Problem {
    Problem(
      .storeUnavailable,
      "The store has not said whether this is stored, and is waited for no longer: it may be.",
      fix: "Keep the envelope and post it again after Retry-After, with the same key."
    ).retry(afterSeconds: RetryHint.overloadSeconds)
  }

  /// A post has come through this relay before.
  ///
  /// - Parameter pseudonym: The relay's own name in `Via`.
  package static func relayLoop(_ pseudonym: String) -> Problem {
    Problem(
      .relayLoop,
      "Via names this relay, \(pseudonym): the post has come through it before, so the upstreams of"
        + " the relays lead in a circle.",
      fix: "Have the upstream of one of the relays lead elsewhere. What it holds waits meanwhile.")
  }

  /// The store's files are not in their places any more.
  ///
  /// Of the same type as other trouble of the store's: a sender does the same about it.
  package static func storeDisplaced() -> Problem {
    Problem(
      .storeUnavailable,
      "The store's files are not in their places any more. Whether this is kept is not sure.",
      fix: "Keep the envelope and try again after Retry-After, with the same key."
    ).retry(afterSeconds: RetryHint.troubleSeconds)
  }

  /// There is nothing to be rescued.
  package static func storeInPlace() -> Problem {
    Problem(
      .storeInPlace, "The store's files are in their places. Nothing was written.",
      fix: "Use `waystation store backup`, which copies a store that is in its place.")
  }

  /// A mistake of the relay's own.
  package static func internalError() -> Problem {
    Problem(
      .internalError, "Nothing was taken. The relay's log says more.",
      fix: "Try again, with the same key.")
  }

  /// The problem for a sender when the store is in trouble.
  ///
  /// The store's own words are for the log, since they name files.
  package init(_ error: StoreError) {
    switch error.kind {
    case .diskFull: self = .diskFull()
    case .closed: self = .draining()
    case .displaced: self = .storeDisplaced()
    case .outcomeUnknown: self = .storeOutcomeUnknown()
    case .inputOutput, .corrupt, .inUse, .newerSchema, .leaseLost, .other:
      self = .storeUnavailable()
    }
  }

  /// The problem for a mistake that the HTTP server found.
  package init(_ problem: ProtocolProblem) {
    let detail = problem.detail
    switch problem.kind {
    case .malformedRequest, .malformedBody: self = .malformedRequest(detail)
    case .targetTooLong: self = .uriTooLong(detail)
    case .fieldsTooLarge: self = .headerFieldsTooLarge(detail)
    case .bodyTooLarge:
      self = Problem(
        .bodyTooLarge, detail, fix: "Send less, or ask the operator to raise limits.bodyBytesMax.")
    case .headTimeout, .bodyTimeout: self = .requestTimeout(detail)
    case .expectationFailed: self = .expectationFailed(detail)
    case .notImplemented: self = .notImplemented(detail)
    case .tooManyConnections: self = .overloaded(detail)
    case .versionNotSupported: self = .httpVersionNotSupported(detail)
    }
  }
}

import RelayCore

// Problems of a sender, or of all of them together, that ask for more than they may.

/// The quota that a problem names.
package struct ExceededLimit: Equatable, Sendable {
  /// The name of the limit, such as `clientWaitingEnvelopes`.
  package var name: String
  /// The most that the limit allows.
  package var max: Double
}

extension Problem {
  /// A quota has no room for a post, or for another request just now.
  ///
  /// - Parameters:
  ///   - client: Who asked; nil where that is not known, or does not matter.
  ///   - uploads: What the open uploads of the client claim.
  package static func overQuota(
    _ refusal: QuotaRefusal, client: String?, uploads: WaitingUse = WaitingUse(),
    retryAfterSeconds: Int
  ) -> Problem {
    let limit = ExceededLimit(name: refusal.limitName, max: refusal.max)
    var problem =
      switch (refusal.limit, refusal.isOfClient) {
      case (.requests, true):
        Problem(
          .rateLimited,
          "The client \((client ?? "").quoted) may send \(inWords(limit.max)) requests a second.",
          fix: "Send fewer requests: post in batches, and wait for Retry-After.")
      case (.requests, false):
        Problem(
          .rateLimited,
          "All senders together may send \(inWords(limit.max)) requests a second.",
          fix: "Try again after Retry-After.")
      case (let counted, true):
        Problem(
          .clientQueueFull,
          "The client \((client ?? "").quoted) may have \(inWords(limit.max)) \(words(counted))"
            + " waiting\(claim(uploads, counted)). What was accepted is safe.",
          fix: "Keep the envelope and try again after Retry-After."
            + (uploads.isNothing
              ? ""
              : " Completing or ending an upload makes room, too: GET /v1/clients/{client}/uploads"
                + " lists them."))
      case (let counted, false):
        Problem(
          .queueFull,
          "\(inWords(limit.max)) \(words(counted)) may wait in all. What was accepted is safe.",
          fix: "Keep the envelope and try again after Retry-After.")
      }
    problem.limit = limit
    return problem.retry(afterSeconds: retryAfterSeconds)
  }

  /// A client or a lane cannot become known: as many are as may be.
  ///
  /// - Parameters:
  ///   - client: Whose lane it is.
  ///   - field: What the name stands in; nil where the path has it.
  package static func tooManyNames(
    _ refusal: QuotaRefusal, client: String, field: String?
  ) -> Problem {
    let limit = ExceededLimit(name: refusal.limitName, max: refusal.max)
    let number = inWords(limit.max)
    var problem =
      switch (refusal.limit, refusal.isOfClient) {
      case (.clients, _):
        Problem(
          .tooManyNames, "\(number) clients may be known in all, and \(client.quoted) is not yet.",
          field: field,
          fix: "Keep the envelope and try again after Retry-After; clients of which nothing is kept"
            + " are forgotten in time.")
      case (_, true):
        Problem(
          .tooManyNames, "The client \(client.quoted) may have \(number) lanes.", field: field,
          fix: "Use one of its lanes; a lane of which nothing is kept is forgotten in time.")
      case (_, false):
        Problem(
          .tooManyNames, "\(number) lanes may be known in all.", field: field,
          fix: "Use a lane that the client has; those of which nothing is kept are forgotten in"
            + " time.")
      }
    problem.limit = limit
    return problem.retry(afterSeconds: RetryHint.spread(RetryHint.mostSeconds))
  }

  /// How much of a client's quota its open uploads claim, as a part of a sentence.
  private static func claim(_ uploads: WaitingUse, _ limit: QuotaRefusal.Limit) -> String {
    guard !uploads.isNothing else { return "" }
    let claimed = limit == .waitingBytes ? uploads.bytes : Int64(uploads.count)
    return ", of which its open uploads claim \(claimed)"
  }

  private static func words(_ limit: QuotaRefusal.Limit) -> String {
    limit == .waitingBytes ? "bytes" : "envelopes"
  }

  private static func inWords(_ number: Double) -> String {
    Int64(exactly: number).map { "\($0)" } ?? "\(number)"
  }
}

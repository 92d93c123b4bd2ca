import RelayCore

// Problems with what is asked to be done with many envelopes at once.

extension Problem {
  /// No such operation is remembered.
  package static func unknownOperation(_ id: String) -> Problem {
    Problem(
      .unknownOperation, "No operation \(shown(id)) is known.",
      fix: "GET /v1/operations lists the last \(OperationLimits.keptMax).")
  }

  /// As many run as may.
  package static func tooManyOperations() -> Problem {
    Problem(
      .overloaded, "\(OperationLimits.runningMax) operations run, and no more may at once.",
      fix: "Try again after Retry-After, or stop one with DELETE /v1/operations/{id}."
    ).retry(afterSeconds: overloadRetryAfterSeconds)
  }

  /// The filter matches another number of envelopes than whoever asks has counted.
  package static func countDiffers(expected: Int, matched: Int) -> Problem {
    Problem(
      .countDiffers,
      "The filter matches \(matched) envelopes by now, and not \(expected). Nothing was done.",
      field: "/expectedCount",
      fix: "Look at what it matches, and ask again with that count.")
  }
}

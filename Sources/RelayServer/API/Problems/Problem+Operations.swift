import RelayCore

// Problems with what is asked to be done with many envelopes at once.

extension Problem {
  /// No such operation is remembered.
  package static func unknownOperation(_ id: String) -> Problem {
    Problem(
      .unknownOperation, "No operation \(id.quoted) is known.",
      fix: "GET /v1/operations lists the last \(OperationLimits.keptMax).")
  }

  /// The filter matches another number of envelopes than whoever asks has counted.
  package static func countDiffers(expected: Int, matched: Int) -> Problem {
    Problem(
      .countDiffers,
      "The filter matches \(matched) envelopes by now, and not \(expected). Nothing was done.",
      field: "/expectedCount",
      fix: "Look at what it matches, and ask again with that count.")
  }

  /// A replay sends again what an upstream has taken, so it says how many that are.
  package static func notCounted(matched: Int) -> Problem {
    Problem(
      .countDiffers,
      "The filter matches \(matched) envelopes, and a replay has to say so. Nothing was done.",
      field: "/expectedCount", fix: "Look at what it matches, and send that count as expectedCount."
    )
  }

  /// It was sent again already, as a copy of another one.
  package static func isReplay() -> Problem {
    Problem(
      .isReplay, "The envelope is a copy that a replay has made, and is not copied once more.",
      fix: "Replay the original; Waystation-Replay among its header fields names it.")
  }

  /// The answers that its references name are not kept any more.
  package static func unfilledReferences(_ fault: ReferenceFault) -> Problem {
    let first = fault.detail.prefix(1).uppercased()
    return Problem(
      .unfilledReferences, "\(first)\(fault.detail.dropFirst()). So no copy was made of it.",
      fix: "Post it as a new envelope, with the values themselves.")
  }

  /// Another relay has filled its references.
  package static func filledElsewhere(_ upstream: String) -> Problem {
    Problem(
      .unfilledReferences,
      "The relay \(upstream.quoted) has filled the references of this envelope, from answers that"
        + " are kept there. So no copy was made of it.",
      fix: "Replay it at that relay.")
  }
}

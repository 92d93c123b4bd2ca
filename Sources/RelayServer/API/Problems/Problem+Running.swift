import RelayCore

// Problems with what is asked to be run.

extension Problem {
  /// No such collection of tags is configured.
  package static func unknownCollection(_ name: String, near: String?) -> Problem {
    Problem(
      .unknownCollection, "No collection named \(name.quoted) is configured.",
      field: "/collection",
      fix: near.map { "Correct its name; did you mean \"\($0)\"?" }
        ?? "Use a configured collection, or name a lane, a tag or ids.")
  }

  /// More envelopes than a run may be about.
  package static func runTooLarge() -> Problem {
    Problem(
      .runTooLarge,
      "More than \(RunBook.Limits.membersMax) envelopes are named; nothing was run. They wait in"
        + " their lanes as before.", fix: "Name fewer: a lane, a tag, a collection or ids.")
  }
}

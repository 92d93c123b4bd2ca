/// How many names may be known at once.
///
/// What is known goes on being so past a limit.
package struct NameLimits: Hashable, Sendable {
  /// How many clients.
  package var clientsMax = Int.max
  /// How many lanes, of all clients together.
  package var lanesMax = Int.max
  /// How many lanes of one client.
  package var clientLanesMax = Int.max

  /// No limits.
  package init() {}
}

/// How many names are known.
package struct NameCounts: Hashable, Sendable {
  /// How many clients.
  package var clients: Int64 = 0
  /// How many lanes, of all clients together.
  package var lanes: Int64 = 0

  /// None.
  package init() {}
}

/// One step of the search for names that nothing refers to any more.
package struct ForgettingPage: Hashable, Sendable {
  /// How many names were forgotten.
  package var forgottenCount: Int
  /// Whether the round is over, and the next step begins anew.
  package var isRoundDone: Bool

  /// Puts a page together.
  package init(forgottenCount: Int, isRoundDone: Bool) {
    self.forgottenCount = forgottenCount
    self.isRoundDone = isRoundDone
  }
}

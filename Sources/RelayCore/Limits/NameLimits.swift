/// The limits on known names.
///
/// Names that are known already stay known when a limit is passed.
package struct NameLimits: Hashable, Sendable {
  /// The most clients.
  package var clientsMax = Int.max
  /// The most lanes of all clients together.
  package var lanesMax = Int.max
  /// The most lanes of one client.
  package var clientLanesMax = Int.max

  /// No limits.
  package init() {}
}

/// The numbers of known names.
package struct NameCounts: Hashable, Sendable {
  /// The number of clients.
  package var clients: Int64 = 0
  /// The number of lanes of all clients together.
  package var lanes: Int64 = 0

  /// None.
  package init() {}
}

/// The result of one step of the search for names that nothing refers to any more.
package struct ForgettingPage: Hashable, Sendable {
  /// The number of names forgotten.
  package var forgottenCount: Int
  /// Whether the round is over, so that the next step starts from the beginning.
  package var isRoundDone: Bool

  /// Puts a page together.
  package init(forgottenCount: Int, isRoundDone: Bool) {
    self.forgottenCount = forgottenCount
    self.isRoundDone = isRoundDone
  }
}

/// How safe what a database has committed is to be, before a post is acknowledged.
package enum StoreDurability: String, CaseIterable, Sendable {
  /// A second server has it on its disk.
  case quorum
  /// The service that runs the database sees to copies.
  case managed
  /// One server is enough.
  case local
}

/// Why what is acknowledged may be less safe than ``StoreDurability`` wants.
package struct DurabilityDoubt: Sendable, Equatable {
  /// Whether it is known to be less safe; else it cannot be told.
  package var isCertain: Bool
  /// Why, as a sentence without a full stop.
  package var reason: String
  /// What to do, likewise.
  package var fix: String

  /// Puts the words together.
  package init(isCertain: Bool, reason: String, fix: String) {
    self.isCertain = isCertain
    self.reason = reason
    self.fix = fix
  }

  /// Why, and what to do.
  package var sentence: String { "\(reason); \(fix)" }
}

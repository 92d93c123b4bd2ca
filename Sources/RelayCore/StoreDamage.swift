/// What of a store is known to be damaged, while everything else in it goes on.
package struct StoreDamage: Sendable, Equatable {
  /// Something that the store goes on without, since what it would be written to is damaged.
  package enum Part: String, Sendable, CaseIterable {
    /// The counts of all envelopes.
    case counts
    /// Of some lanes, or of all, how many envelopes have ended.
    case laneCounts = "lane-counts"
    /// The log of events.
    case events
    /// The deletion of events that were kept long enough.
    case eventDeletion = "event-deletion"
    /// The deletion of some envelopes that were kept long enough.
    case envelopeDeletion = "envelope-deletion"
    /// The index of the latest envelopes by client and tag: searches go through them.
    case searches
  }

  /// How many envelopes stand blocked since they cannot be read.
  package var quarantined: Int64 = 0
  /// How many changes could not be written since the start, as what they concern is damaged.
  package var unwritten: Int64 = 0
  /// What is not done any more, until the store is salvaged.
  package var leftOut: Set<Part> = []
  /// What the store said last, in words; nil if nothing was damaged since the start.
  package var last: String?

  /// No damage.
  package init() {}

  /// Whether none is known.
  package var isNone: Bool {
    quarantined == 0 && unwritten == 0 && leftOut.isEmpty && last == nil
  }

  /// In words, for people; nil if there is none.
  package var sentence: String? {
    guard !isNone else { return nil }
    let start =
      "the store is damaged: \(quarantined) envelopes are quarantined, \(unwritten) changes "
      + "could not be written. "
    guard !leftOut.isEmpty else {
      return start + "Other lanes go on. Stop the relay when you can, and run "
        + "'waystation store check'."
    }
    let parts = Part.allCases.filter(leftOut.contains).map(\.rawValue)
    return start + "It goes on without: \(parts.joined(separator: ", ")). Envelopes are accepted "
      + "and delivered; a start may refuse the store. Stop the relay when you can, and run "
      + "'waystation store salvage'."
  }
}

/// A damaged store that was moved out of the way when it was asked for.
package struct SetAsideStore: Sendable, Equatable {
  /// Where it is now.
  package var folder: String
  /// Why, if that was at this start; nil if it was at an earlier one.
  package var reason: String?
  /// What of its tokens is in the new store; nil if it was moved at an earlier start.
  package var tokens: CarriedTokens?

  /// Describes it.
  package init(folder: String, reason: String?, tokens: CarriedTokens? = nil) {
    self.folder = folder
    self.reason = reason
    self.tokens = tokens
  }
}

/// What of a damaged store's tokens was carried over into a new one.
package struct CarriedTokens: Sendable, Equatable {
  /// How many tokens of clients and operators.
  package var tokens = 0
  /// How many tokens of keys of which it is known that they were revoked.
  package var revocations = 0
  /// How many rows, and pages of such, could not be read; nil if the whole database could not.
  package var unreadable: Int? = 0

  /// None.
  package init() {}
}

/// The known damage of a store that goes on in spite of it.
package struct StoreDamage: Sendable, Equatable {
  /// A part that the store goes on without, since it cannot write to it.
  package enum Part: String, Sendable, CaseIterable {
    /// The counts of all envelopes.
    case counts
    /// The counts of ended envelopes, of some lanes or of all.
    case laneCounts = "lane-counts"
    /// The log of events.
    case events
    /// The deletion of events that were kept long enough.
    case eventDeletion = "event-deletion"
    /// The deletion of some envelopes that were kept long enough.
    case envelopeDeletion = "envelope-deletion"
    /// The deletion of keys that were remembered long enough.
    case keyDeletion = "key-deletion"
    /// The index of the latest envelopes by client and tag, which searches use.
    case searches
    /// The receipts of what is accepted.
    case receipts
  }

  /// The number of envelopes that are blocked since they cannot be read.
  package var quarantined: Int64 = 0
  /// The number of changes since the start that could not be written, since their place is damaged.
  package var unwritten: Int64 = 0
  /// The parts that the store goes on without until it is salvaged.
  package var leftOut: Set<Part> = []
  /// The store's last message about damage; nil if it met none since the start.
  package var last: String?

  /// No damage.
  package init() {}

  /// Whether no damage is known.
  package var isNone: Bool {
    quarantined == 0 && unwritten == 0 && leftOut.isEmpty && last == nil
  }

  /// The damage in words, for people; nil if there is none.
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

/// A damaged store that was moved out of the way on request.
package struct SetAsideStore: Sendable, Equatable {
  /// Its present folder.
  package var folder: String
  /// The reason, if it was moved at this start; nil if at an earlier one.
  package var reason: String?
  /// The tokens that were carried over to the new store; nil if it was moved at an earlier start.
  package var tokens: CarriedTokens?

  /// Describes it.
  package init(folder: String, reason: String?, tokens: CarriedTokens? = nil) {
    self.folder = folder
    self.reason = reason
    self.tokens = tokens
  }
}

/// The tokens that were carried over from a damaged store to a new one.
package struct CarriedTokens: Sendable, Equatable {
  /// The number of tokens of clients and operators.
  package var tokens = 0
  /// The number of tokens of keys that are known to be revoked.
  package var revocations = 0
  /// The number of rows, and of pages of rows, that could not be read; nil if the whole database
  /// could not be read.
  package var unreadable: Int? = 0

  /// None.
  package init() {}
}

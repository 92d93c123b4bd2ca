/// What one transaction of a store did, told once it is on disk.
///
/// This one value goes from the store to the engine, and from there to everyone who counts, logs or
/// wakes somebody. Each of them goes through ``changes`` with a `switch` over all kinds: whoever
/// adds a kind is asked by the compiler what it means to each.
package struct Commit: Sendable {
  /// One kind of thing that the transaction did; many envelopes share one.
  package enum Change: Sendable {
    /// Changes that were asked for came to be; those of ``Transition/isMoot`` came too late to
    /// change anything.
    case changed([Transition])
    /// Changes were left out, since the store is damaged where they would stand: they did not come
    /// to be, and are not tried again.
    case unwritten([Transition])
    /// Ends that are on record no more, or not as they were. What was put back in line stands among
    /// the changes as well, and before.
    case endsChanged([EndChange])
    /// Envelopes that were reserved have got a later post's content.
    ///
    /// These are not all posts that coalesced: one that took over an envelope of this same commit
    /// counts in that one's ``AcceptedEnvelope/revision``. ``Commit/postCount`` has both.
    case coalesced([CoalescedEnvelope])
    /// Envelopes were accepted, or placed: moved to the end of the line since nothing is missing
    /// before them any more. Both stand in one list, which has the order of the line.
    case accepted([AcceptedEnvelope])
    /// All that waited of a client was cancelled.
    case cleared(ClearedBacklog)
  }

  /// What became known by the transaction and starts paused; it is so before any of ``changes``.
  package var startedPaused: [PauseTarget] = []
  /// By how much more or less waits of clients.
  package var use: [ClientNumber: WaitingUse] = [:]
  /// What happened to envelopes, in the order in which it is to be applied.
  ///
  /// Ends come before acceptances, so that a position does not count what has just ended. Cleared
  /// backlogs come last, since they name what was placed by its new number.
  package var changes: [Change] = []
  /// All damage that is known, where the store goes on without something more from now on.
  package var damage: StoreDamage?
  /// The place behind the latest event in the log; nil if the transaction logged none.
  package var eventsEnd: EventPosition?
  /// Whether clients were forgotten: their names get other numbers if they are used again.
  package var hasForgottenClients = false

  /// Nothing yet.
  package init() {}

  /// Whether there is nothing to tell.
  package var isEmpty: Bool {
    changes.isEmpty && use.isEmpty && eventsEnd == nil && startedPaused.isEmpty && damage == nil
      && !hasForgottenClients
  }

  /// How many posts were taken: each that was accepted, and each that took a waiting envelope's
  /// place, though several may have done so within this commit.
  package var postCount: Int {
    changes.reduce(0) { count, change in
      switch change {
      case .accepted(let envelopes): envelopes.reduce(count) { $0 + $1.postCount }
      case .coalesced(let envelopes): envelopes.reduce(count) { $0 + $1.postCount }
      case .changed, .unwritten, .endsChanged, .cleared: count
      }
    }
  }
}

/// Where what a commit has put into lanes stands there.
package struct CommitPositions: Sendable, Equatable {
  /// The position of each envelope of ``Commit/Change/accepted(_:)``, in their order.
  ///
  /// It says how many stand in its lane up to it, itself included. That of one that is parked means
  /// nothing.
  package var accepted: [Int] = []
  /// The position of each envelope of ``Commit/Change/coalesced(_:)``, in their order; nil if it
  /// stands too far back to be known without reading the line.
  package var coalesced: [Int?] = []

  /// None.
  package init() {}
}

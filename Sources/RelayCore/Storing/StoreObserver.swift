/// Is told of a store's commits, and asked within a transaction: on a thread of the store's, in the
/// order of the commits.
package protocol StoreObserver: Sendable {
  /// Reports a transaction that is on disk.
  ///
  /// - Parameter answer: Wakes those who have posted; to be called once, as soon as the positions
  ///   are known.
  func committed(_ commit: Commit, answer: (CommitPositions) -> Void)

  /// Asks, within a transaction, whether a later post may replace a waiting envelope's content.
  ///
  /// - Returns: Whether it may. If so, no attempt of that envelope may begin until the store
  ///   reports the result by ``Commit/Change/coalesced(_:)`` or ``released(_:)``.
  func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool

  /// Announces, within a transaction, that everything that waits of a client is about to be
  /// cancelled.
  ///
  /// No attempt of it may begin until the store reports the result by
  /// ``Commit/Change/cleared(_:)`` or ``released(_:)``.
  ///
  /// - Returns: The envelopes that must be left alone.
  func reserveAll(of client: ClientNumber) -> SparedEnvelopes

  /// Reports that reserved envelopes and clients are unchanged.
  func released(_ reservations: Reservations)

  /// Reports that an embedded store's files are no longer in their places; nil if they are again.
  func displaced(_ error: StoreError?)

  /// Reports that an embedded store cannot know any more what is on the disk, and ends the process:
  /// the next start finds out.
  func syncFailed(_ error: StoreError) -> Never

  /// Reports, again and again, that a shared store is this relay's.
  func leaseHeld()

  /// Reports that a shared store may soon be another relay's, since this one has not been able to
  /// show for a while that it runs: attempts under way are to be broken off.
  ///
  /// ``EnvelopeStore/mayAttempt`` is false until ``leaseHeld()``.
  ///
  /// - Parameter reason: Why the store could not be reached, as far as that is known.
  func leaseLapsed(_ reason: String?)

  /// Reports that a shared store is another relay's: nothing can be written any more.
  func leaseLost(_ error: StoreError)
}

extension StoreObserver {
  /// Ignores where the files are.
  package func displaced(_ error: StoreError?) {}

  /// Ignores it.
  package func leaseHeld() {}

  /// Ignores it.
  package func leaseLapsed(_ reason: String?) {}

  /// Ignores it: whoever writes is told as well.
  package func leaseLost(_ error: StoreError) {}

  /// Traps.
  package func syncFailed(_ error: StoreError) -> Never { preconditionFailure("\(error)") }
}

/// The envelopes and clients that a transaction keeps from being attempted while it changes them.
package struct Reservations: Sendable, Equatable {
  /// Envelopes whose content a later post is to replace, and their lanes.
  package var envelopes: [Serial: LaneNumber] = [:]
  /// Clients of which everything that waits is to be cancelled.
  package var clients: Set<ClientNumber> = []

  /// Starts with none.
  package init() {}

  /// Whether nothing is reserved.
  package var isEmpty: Bool { envelopes.isEmpty && clients.isEmpty }
}

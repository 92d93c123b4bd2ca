/// What only a store has that several relays share: one of them has it, and others are spares.
///
/// The rest of the relay goes by ``EnvelopeStore``, and asks this one where there is one.
package protocol SharedStore: EnvelopeStore {
  /// Has what is asked from now on wait out trouble that may pass, for
  /// ``LeaseLimits/refusalMs``: for a start, which each error would end.
  ///
  /// It ends at once by ``EnvelopeStore/giveUpWaiting()``.
  ///
  /// - Parameter tell: Is told of the trouble, each time; nil ends that again.
  func bearTrouble(_ tell: (@Sendable (StoreError) -> Void)?)

  /// Tells the spares that this relay is about to give the store up, so that one of them takes it
  /// as soon as it is closed.
  ///
  /// Until it is closed the store is this relay's, as before.
  ///
  /// - Returns: After how many milliseconds all spares have seen it. Who closes the store earlier
  ///   is followed later.
  func announceHandover() -> Int64

  /// Waits, once the store is closed, until another relay has it.
  ///
  /// - Precondition: ``announceHandover()`` was called before the store was closed.
  /// - Returns: Which relay has it; nil if none was seen to take it within
  ///   ``LeaseLimits/successionMs``.
  func successor() async -> Successor?
}

/// The relay that has a store after another one.
package struct Successor: Sendable, Equatable {
  /// The host and port at which other relays reach it; nil if they do not.
  package var address: String?

  /// Names a relay.
  package init(address: String?) { self.address = address }
}

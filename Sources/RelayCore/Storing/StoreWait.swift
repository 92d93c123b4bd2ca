/// What a relay waits for that shares its store with others, before it has the store.
package enum StoreWait: Equatable, Sendable {
  /// Another relay has the store: this one is a spare.
  ///
  /// - Parameter address: The host and port at which other relays reach it; nil if they do not.
  case another(address: String?)
  /// Nobody else has it any more: it is this relay's, and being opened.
  case opening
  /// The store cannot be reached.
  case unreachable(StoreError)
  /// The store refuses this relay, which it did not before. That is borne for so many seconds, as a
  /// password may just be changed.
  case refused(StoreError, endsAfterSeconds: Int64)
}

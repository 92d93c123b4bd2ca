/// What a relay waits for that shares its store with others, before it has the store.
package enum StoreWait: Equatable, Sendable {
  /// Another relay has the store: this one is a spare.
  case another
  /// The store cannot be reached.
  case unreachable(StoreError)
}

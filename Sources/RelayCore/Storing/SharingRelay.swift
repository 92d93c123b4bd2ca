/// A relay that shares a store with others, as far as the database shows it.
package struct SharingRelay: Sendable, Equatable {
  /// The host and port at which other relays reach it; nil if they do not.
  package var address: String?
  /// Its release.
  package var version: String
  /// Whether it has the store; else it is a spare.
  package var hasStore: Bool
  /// How long ago it has shown that it runs, in milliseconds, by the database's clock.
  package var seenMsAgo: Int64

  /// Puts the facts together.
  package init(address: String?, version: String, hasStore: Bool, seenMsAgo: Int64) {
    self.address = address
    self.version = version
    self.hasStore = hasStore
    self.seenMsAgo = seenMsAgo
  }
}

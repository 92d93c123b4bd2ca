/// What only a store has that keeps its envelopes in files on this machine.
///
/// The rest of the relay goes by ``EnvelopeStore``, and asks this one where there is one.
package protocol EmbeddedStore: EnvelopeStore {
  /// The present figures of the files, and what is known of their condition. Asks the system for
  /// their sizes, and reads nothing.
  func files() -> StoreFiles

  /// The reason why no new envelope would be taken now for want of room, as far as is known; nil if
  /// there is none.
  ///
  /// Accepted envelopes are delivered meanwhile, and the store checks by itself whether there is
  /// room again.
  var lackOfRoom: StoreError? { get }

  /// An error of kind `displaced` if the store's files are no longer in their places, looked at
  /// now; else nil. Nothing is acknowledged then; accepted envelopes are delivered, and the store
  /// resumes by itself once the same files are back.
  var displacement: StoreError? { get }

  /// Writes everything that the store holds, as of one moment, as another store into a folder that
  /// must be absent or empty. It also copies files that no other process can open any more.
  func rescue(to folder: String) async throws(StoreError) -> RescueReport
}

/// The files of an embedded store: how much they take, and their condition.
package struct StoreFiles: Sendable, Equatable {
  /// The bytes of the store's files on disk.
  package var fileBytes: Int64
  /// The bytes of the write-ahead log that are not known to have been copied into the database.
  package var logBytes: Int64
  /// The bytes that new envelopes may still take on disk.
  package var roomBytes: Int64
  /// The known damage.
  package var damage = StoreDamage()
  /// The damaged store that was last moved aside here, as long as its folder exists.
  package var setAside: SetAsideStore?
  /// Whether tokens or revocations may have been lost with a damaged store.
  package var mayLackTokens = false
  /// A description of harmless findings at the start; nil if there were none.
  package var startNote: String?

  /// Puts the figures together; nothing is known to be wrong.
  package init(fileBytes: Int64, logBytes: Int64, roomBytes: Int64) {
    self.fileBytes = fileBytes
    self.logBytes = logBytes
    self.roomBytes = roomBytes
  }
}

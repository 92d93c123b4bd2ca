/// What a store tells of its commits: on a thread of the store's, in the order of the commits, and
/// before anybody who waits for that commit is told.
package protocol StoreObserver: Sendable {
  /// Something became known that starts paused; told before anything of it is.
  func startedPaused(_ targets: [PauseTarget])

  /// How much waits of some clients has changed; told before anything else of that commit.
  ///
  /// - Parameter names: Of clients of which something was accepted, each once or more often.
  func useChanged(_ changes: [ClientNumber: WaitingUse], names: [(ClientNumber, String)])

  /// Envelopes were accepted, or moved to the end of the line since nothing is missing before them
  /// any more, in this order.
  ///
  /// - Returns: For each, how many stand in its lane now, itself included: its position. What is
  ///   given back for one that is parked is not looked at.
  func accepted(_ envelopes: [AcceptedEnvelope]) -> [Int]

  /// Changes were made durable.
  func recorded(_ transitions: [Transition])

  /// Changes were left out of a commit, since the store is damaged where they would stand: they
  /// did not come to be, and are not tried again. Told after what was recorded in the same commit.
  func unwritten(_ transitions: [Transition])

  /// The store goes on without something from now on, which is among what is left out.
  func goesOnWithout(_ damage: StoreDamage)

  /// The store's files are not in their places any more, or are again, which nil says.
  func displaced(_ error: StoreError?)

  /// Within a transaction: a later post is about to take a waiting envelope's place.
  ///
  /// - Returns: Whether it may. If so, no attempt of that envelope may begin until the store has
  ///   said what came of it, by ``coalesced(_:)`` or ``released(_:)``.
  func reserve(_ serial: Serial, in lane: LaneNumber) -> Bool

  /// Envelopes that were reserved have got a later post's content.
  ///
  /// - Returns: For each, its place in its lane, from 1; nil if it is not known.
  func coalesced(_ envelopes: [CoalescedEnvelope]) -> [Int?]

  /// Envelopes that were reserved stand as they stood.
  func released(_ reserved: [Serial: LaneNumber])

  /// Within a transaction: all that waits of a client is about to be cancelled.
  ///
  /// Nothing of it may begin until the store has said what came of it, by ``cleared(_:)`` or
  /// ``clearingFailed(of:)``.
  ///
  /// - Returns: What is to be left alone.
  func reserveAll(of client: ClientNumber) -> SparedEnvelopes

  /// All that waited of a client was cancelled.
  func cleared(_ backlog: ClearedBacklog)

  /// All that waits of some clients stands as it stood.
  func clearingFailed(of clients: Set<ClientNumber>)

  /// Events were logged, and can be read; `end` is the place behind the latest.
  func logged(through end: EventPosition)

  /// Clients were forgotten: their names get other numbers if they are used again.
  func forgotClients()
}

extension StoreObserver {
  /// Pays no heed to quotas.
  package func useChanged(
    _ changes: [ClientNumber: WaitingUse], names: [(ClientNumber, String)]
  ) {}

  /// Pays no heed to damage that concerns no envelope.
  package func goesOnWithout(_ damage: StoreDamage) {}

  /// Pays no heed to where the files are.
  package func displaced(_ error: StoreError?) {}

  /// Remembers no client by its name.
  package func forgotClients() {}

  /// Pays no heed to the event log.
  package func logged(through end: EventPosition) {}
}

#if PostgreSQL
import EventLoop
import RelayCore
import Synchronization

// Calls that read, each on one of the connections for that.
extension PostgresStore {
  /// See ``EnvelopeStore``.
  package func upstreamNames() async throws(StoreError) -> [UpstreamNumber: String] {
    try await read { reader throws(StoreError) in try reader.upstreamNames() }
  }

  /// See ``EnvelopeStore``.
  package func pauses() async throws(StoreError) -> Set<PauseTarget> {
    try await read { reader throws(StoreError) in try reader.pauses() }
  }

  /// See ``EnvelopeStore``.
  package func line(after serial: Serial, countMax: Int) async throws(StoreError) -> LinePage {
    // Before the rows are read: what comes meanwhile has a greater number.
    let last = shared.figures.withLock { $0.given.lastSerial }
    return try await read { reader throws(StoreError) in
      try reader.line(after: serial, countMax: countMax, lastSerial: last)
    }
  }

  /// See ``EnvelopeStore``.
  package func line(before serial: Serial, countMax: Int) async throws(StoreError) -> LinePage {
    try await read { reader throws(StoreError) in
      try reader.line(before: serial, countMax: countMax)
    }
  }

  /// See ``EnvelopeStore``.
  package func line(at serials: [Serial]) async throws(StoreError) -> [LineEntry] {
    try await read(isOfTold: true) { reader throws(StoreError) in try reader.line(at: serials) }
  }

  /// See ``EnvelopeStore``.
  package func load(_ serials: [Serial]) async throws(StoreError) -> [DeliverableEnvelope] {
    try await read(isOfTold: true) { reader throws(StoreError) in try reader.load(serials) }
  }

  /// See ``EnvelopeStore``.
  package func terms(of serials: [Serial]) async throws(StoreError) -> [Serial: SenderTerms] {
    try await read(isOfTold: true) { reader throws(StoreError) in try reader.terms(of: serials) }
  }

  /// See ``EnvelopeStore``.
  package func serial(in id: EnvelopeID) -> Serial { Serial(id.low >> 22 & 0xFF_FFFF_FFFF) }

  /// See ``EnvelopeStore``.
  package func envelope(_ id: EnvelopeID) async throws(StoreError) -> EnvelopeRecord? {
    let serial = serial(in: id)
    return try await read { reader throws(StoreError) in
      try reader.envelope(id, postedUnder: serial)
    }
  }

  /// See ``EnvelopeStore``.
  package func envelope(client: String, key: String) async throws(StoreError) -> EnvelopeID? {
    try await read { reader throws(StoreError) in try reader.envelope(client: client, key: key) }
  }

  /// See ``EnvelopeStore``.
  package func ids(of serials: [Serial]) async throws(StoreError) -> [Serial: EnvelopeID] {
    try await read { reader throws(StoreError) in try reader.ids(of: serials) }
  }

  /// See ``EnvelopeStore``.
  package func response(_ id: EnvelopeID) async throws(StoreError) -> UpstreamResponse? {
    let serial = serial(in: id)
    return try await read { reader throws(StoreError) in
      try reader.response(id, postedUnder: serial)
    }
  }

  /// See ``EnvelopeStore``.
  package func client(_ name: String) async throws(StoreError) -> ClientRecord? {
    try await read { reader throws(StoreError) in try reader.client(name) }
  }

  /// See ``EnvelopeStore``.
  package func clientNames(
    _ numbers: [ClientNumber]
  ) async throws(StoreError) -> [ClientNumber: String] {
    try await read { reader throws(StoreError) in try reader.clientNames(numbers) }
  }

  /// See ``EnvelopeStore``.
  package func laneNames(
    _ numbers: [LaneNumber]
  ) async throws(StoreError) -> [LaneNumber: LaneName] {
    try await read { reader throws(StoreError) in try reader.laneNames(numbers) }
  }

  /// See ``EnvelopeStore``.
  package func statistics() -> StoreStatistics {
    let figures = shared.figures.withLock { $0 }
    var counts: [EnvelopeState: Int64] = [:]
    for standing in Standing.allCases {
      counts[standing.state] = figures.counts.standing[standing] ?? 0
    }
    for end in EnvelopeState.ends { counts[end] = figures.counts.ended[end] ?? 0 }
    var statistics = StoreStatistics(
      envelopes: counts, contentBytes: figures.counts.contentBytes,
      trouble: figures.trouble ?? figures.refusal ?? lease.trouble,
      latestTime: figures.given.latestTime.millisecondsSinceEpoch > 0
        ? figures.given.latestTime : nil)
    statistics.readTrouble = shared.readTrouble.withLock { $0.error(at: Lease.now()) }?.description
    statistics.names = figures.given.names
    statistics.receipts = figures.receipts
    statistics.relays = lease.relays
    statistics.durabilityDoubt = figures.doubt(wanting: durability)
    return statistics
  }

  /// Has one of the connections that read ask something.
  ///
  /// - Parameter isOfTold: Whether it reads only what the observer was told of before. Else the
  ///   result waits until all that was read has been told.
  func read<Value: Sendable>(
    isOfTold: Bool = false,
    _ body: @escaping @Sendable (DatabaseReader) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let result: Result<Value, StoreError> = await withUnsafeContinuation { continuation in
      let asking = { @Sendable [shared] (reader: DatabaseReader) throws(StoreError) -> Value in
        try shared.asking { () throws(StoreError) -> Value in try body(reader) }
      }
      reads.ask("read", asking) { [gate = shared.gate] result in
        if case .success = result, !isOfTold {
          gate.whenTold { isTold in
            continuation.resume(returning: isTold ? result : .failure(.notTold))
          }
        } else {
          continuation.resume(returning: result)
        }
      }
    }
    return try result.get()
  }
}
#endif

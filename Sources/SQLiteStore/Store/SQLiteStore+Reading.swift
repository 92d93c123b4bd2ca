import RelayCore
import Synchronization

extension SQLiteStore {
  /// What ``EnvelopeStore`` says of `upstreamNames`.
  package func upstreamNames() async throws(StoreError) -> [UpstreamNumber: String] {
    try await read { reader throws(StoreError) in try reader.upstreamNames() }
  }

  /// What ``EnvelopeStore`` says of `pauses`.
  package func pauses() async throws(StoreError) -> Set<PauseTarget> {
    try await read { reader throws(StoreError) in try reader.pauses() }
  }

  /// What ``EnvelopeStore`` says of `line`.
  package func line(
    after serial: Serial, countMax: Int
  ) async throws(StoreError) -> LinePage {
    try await read(on: lineReads) { reader throws(StoreError) in
      try reader.line(after: serial, countMax: countMax)
    }
  }

  /// What ``EnvelopeStore`` says of `line`.
  package func line(
    before serial: Serial, countMax: Int
  ) async throws(StoreError) -> LinePage {
    try await read(on: lineReads) { reader throws(StoreError) in
      try reader.line(before: serial, countMax: countMax)
    }
  }

  /// What ``EnvelopeStore`` says of `line`.
  package func line(at serials: [Serial]) async throws(StoreError) -> [LineEntry] {
    try await read(on: lineReads) { reader throws(StoreError) in try reader.line(at: serials) }
  }

  /// What ``EnvelopeStore`` says of `load`.
  package func load(_ serials: [Serial]) async throws(StoreError) -> [DeliverableEnvelope] {
    try await read(on: lineReads) { reader throws(StoreError) in try reader.load(serials) }
  }

  /// What ``EnvelopeStore`` says of `envelope`.
  package func envelope(_ id: EnvelopeID) async throws(StoreError) -> EnvelopeRecord? {
    try await read { reader throws(StoreError) in try reader.envelope(id) }
  }

  /// What ``EnvelopeStore`` says of `envelope`.
  package func envelope(
    client: String, key: String
  ) async throws(StoreError) -> EnvelopeID? {
    try await read { reader throws(StoreError) in try reader.envelope(client: client, key: key) }
  }

  /// What ``EnvelopeStore`` says of `serial`.
  package func serial(in id: EnvelopeID) -> Serial { id.serial }

  /// What ``EnvelopeStore`` says of `ids`.
  package func ids(of serials: [Serial]) async throws(StoreError) -> [Serial: EnvelopeID] {
    try await read { reader throws(StoreError) in try reader.ids(of: serials) }
  }

  /// What ``EnvelopeStore`` says of `response`.
  package func response(_ id: EnvelopeID) async throws(StoreError) -> UpstreamResponse? {
    try await read { reader throws(StoreError) in try reader.response(id) }
  }

  /// What ``EnvelopeStore`` says of `answers`.
  package func answers(
    to keys: Set<String>, for serial: Serial
  ) async throws(StoreError) -> [String: ReferencedAnswer] {
    try await read(on: lineReads) { reader throws(StoreError) in
      try reader.answers(to: keys, for: serial)
    }
  }

  /// What ``EnvelopeStore`` says of `list`.
  package func list(
    _ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EnvelopePage {
    try await read { reader throws(StoreError) in
      try reader.list(filter, after: serial, countMax: countMax, looksMax: looksMax)
    }
  }

  /// What ``EnvelopeStore`` says of `summaries`.
  package func summaries(
    of ids: [EnvelopeID]
  ) async throws(StoreError) -> [EnvelopeSummary] {
    try await read { reader throws(StoreError) in try reader.summaries(of: ids) }
  }

  /// What ``EnvelopeStore`` says of `fates`.
  package func fates(
    of references: [EnvelopeReference]
  ) async throws(StoreError) -> [EnvelopeFate?] {
    try await read { reader throws(StoreError) in try reader.fates(of: references) }
  }

  /// What ``EnvelopeStore`` says of `client`.
  package func client(_ name: String) async throws(StoreError) -> ClientRecord? {
    try await read { reader throws(StoreError) in try reader.client(name) }
  }

  /// What ``EnvelopeStore`` says of `clientNames`.
  package func clientNames(
    _ numbers: [ClientNumber]
  ) async throws(StoreError) -> [ClientNumber: String] {
    try await read { reader throws(StoreError) in try reader.clientNames(numbers) }
  }

  /// What ``EnvelopeStore`` says of `laneNames`.
  package func laneNames(
    _ numbers: [LaneNumber]
  ) async throws(StoreError) -> [LaneNumber: LaneName] {
    try await read { reader throws(StoreError) in try reader.laneNames(numbers) }
  }

  /// What ``EnvelopeStore`` says of `eventLogSpan`.
  package func eventLogSpan() async throws(StoreError) -> EventLogSpan {
    try await read { reader throws(StoreError) in try reader.eventLogSpan() }
  }

  /// What ``EnvelopeStore`` says of `events`.
  package func events(
    behind position: EventPosition, _ filter: EventFilter, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EventPage {
    try await read { reader throws(StoreError) in
      try reader.events(behind: position, filter, countMax: countMax, looksMax: looksMax)
    }
  }

  /// What ``EnvelopeStore`` says of `commitFigures`.
  package var commitFigures: CommitFigures { shared.figures.withLock { $0.commits } }

  /// What ``EnvelopeStore`` says of `statistics`.
  package func statistics() -> StoreStatistics {
    let (ledger, trouble) = shared.figures.withLock { ($0.ledger, $0.trouble) }
    // Known at once, also while nobody writes; the writer then says so as well.
    let displacement = displacement
    var statistics = StoreStatistics(
      envelopes: ledger.envelopes, contentBytes: ledger.contentBytes,
      trouble: displacement?.description ?? trouble,
      latestTime: ledger.latestTime > 0
        ? WallTime(millisecondsSinceEpoch: ledger.latestTime) : nil)
    statistics.names = ledger.names
    return statistics
  }

  /// What ``EmbeddedStore`` says of `files`.
  package func files() -> StoreFiles {
    let (bodyBytes, logBytes, damage) = shared.figures.withLock {
      ($0.ledger.fileBytes, $0.logBytes, $0.damage)
    }
    let fileBytes =
      DataFolder.size(ofFile: database) + DataFolder.size(ofFile: database + "-wal") + bodyBytes
    let room = shared.room
    let ofLimit = room.limits.storeBytesMax.map { $0 - fileBytes } ?? .max
    var files = StoreFiles(
      fileBytes: fileBytes, logBytes: logBytes, roomBytes: max(0, min(room.bytesLeft, ofLimit)))
    files.damage = damage
    files.setAside = shared.start.setAside
    files.mayLackTokens = shared.start.mayLackTokens
    files.startNote = shared.start.note
    return files
  }

  /// What ``EmbeddedStore`` says of `displacement`.
  package var displacement: StoreError? {
    guard let error = shared.places.displacement() else { return nil }
    if lackOfRoom?.kind != .displaced { shared.inbox.update { $0.isRoomInDoubt = true } }
    return error
  }

  /// What ``EmbeddedStore`` says of `lackOfRoom`.
  package var lackOfRoom: StoreError? { shared.figures.withLock { $0.lackOfRoom } }

  /// The numbers of all that waits of a client and was accepted up to a number, step by step, so
  /// that others read in between.
  ///
  /// What was parked may be placed at any moment, behind that number: so the line is read to its
  /// end.
  func waiting(
    of client: ClientNumber, through end: Serial
  ) async throws(StoreError) -> [Serial] {
    var serials: [Serial] = []
    var after: Serial = 0
    while true {
      let from = after
      let step = try await read { reader throws(StoreError) in
        try reader.waiting(
          of: client, through: end, after: from, countMax: StoreTuning.clearingLooksPerStep)
      }
      serials += step.serials
      guard step.hasMore else { return serials }
      after = step.scannedThrough
    }
  }

  /// What ``EnvelopeStore`` says of `expiredEntries`.
  package func expiredEntries(
    at now: WallTime, countMax: Int
  ) async throws(StoreError) -> ExpiryPage {
    let walk = expiryWalk.withLock { $0 }
    let page = try await read { reader throws(StoreError) in
      try reader.line(after: walk.cursor, countMax: countMax)
    }
    let expired = page.entries.filter { $0.expiresAt <= now }
    let pending = page.entries.lazy.map(\.expiresAt).filter { $0 > now }.min()
    let earliest = [walk.nextDeadline, pending].compactMap { $0 }.min()
    expiryWalk.withLock { next in
      next =
        page.hasMore
        ? ExpiryWalk(cursor: page.scannedThrough, nextDeadline: earliest) : ExpiryWalk()
    }
    return ExpiryPage(
      expired: expired, isRoundDone: !page.hasMore,
      nextDeadline: page.hasMore ? nil : earliest)
  }

  /// Has a reading thread do something; on which one is up to `queue`.
  func read<Value: Sendable>(
    on queue: WorkQueue<ReadJob>? = nil,
    _ body: @escaping @Sendable (Reader) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let queue = queue ?? reads
    let result: Result<Value, StoreError> = await withUnsafeContinuation { continuation in
      let isQueued = queue.push { reader in
        let result = Result { () throws(StoreError) -> Value in try body(reader) }
        continuation.resume(returning: result)
      }
      if !isQueued { continuation.resume(returning: .failure(.closed(operation: "read"))) }
    }
    return try result.get()
  }
}

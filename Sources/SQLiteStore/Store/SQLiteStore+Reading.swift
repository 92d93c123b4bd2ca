import EventLoop
import RelayCore
import Synchronization

extension SQLiteStore {
  /// See ``EnvelopeStore``.
  package func upstreamNames() async throws(StoreError) -> [UpstreamNumber: String] {
    try await read { reader throws(StoreError) in try reader.upstreamNames() }
  }

  /// See ``EnvelopeStore``.
  package func pauses() async throws(StoreError) -> Set<PauseTarget> {
    try await read { reader throws(StoreError) in try reader.pauses() }
  }

  /// See ``EnvelopeStore``.
  package func line(
    after serial: Serial, countMax: Int
  ) async throws(StoreError) -> LinePage {
    try await read(on: lineReads) { reader throws(StoreError) in
      try reader.line(after: serial, countMax: countMax)
    }
  }

  /// See ``EnvelopeStore``.
  package func line(
    before serial: Serial, countMax: Int
  ) async throws(StoreError) -> LinePage {
    try await read(on: lineReads) { reader throws(StoreError) in
      try reader.line(before: serial, countMax: countMax)
    }
  }

  /// See ``EnvelopeStore``.
  package func line(at serials: [Serial]) async throws(StoreError) -> [LineEntry] {
    try await read(on: lineReads, isOfTold: true) { reader throws(StoreError) in
      try reader.line(at: serials)
    }
  }

  /// See ``EnvelopeStore``.
  package func load(_ serials: [Serial]) async throws(StoreError) -> [DeliverableEnvelope] {
    try await read(on: lineReads, isOfTold: true) { reader throws(StoreError) in
      try reader.load(serials)
    }
  }

  /// See ``EnvelopeStore``.
  package func terms(of serials: [Serial]) async throws(StoreError) -> [Serial: SenderTerms] {
    try await read(on: lineReads, isOfTold: true) { reader throws(StoreError) in
      try reader.terms(of: serials)
    }
  }

  /// See ``EnvelopeStore``.
  package func envelope(_ id: EnvelopeID) async throws(StoreError) -> EnvelopeRecord? {
    try await read { reader throws(StoreError) in try reader.envelope(id) }
  }

  /// See ``EnvelopeStore``.
  package func envelope(
    client: String, key: String
  ) async throws(StoreError) -> EnvelopeID? {
    try await read { reader throws(StoreError) in try reader.envelope(client: client, key: key) }
  }

  /// See ``EnvelopeStore``.
  package func serial(in id: EnvelopeID) -> Serial { id.serial }

  /// See ``EnvelopeStore``.
  package func ids(of serials: [Serial]) async throws(StoreError) -> [Serial: EnvelopeID] {
    try await read { reader throws(StoreError) in try reader.ids(of: serials) }
  }

  /// See ``EnvelopeStore``.
  package func response(_ id: EnvelopeID) async throws(StoreError) -> UpstreamResponse? {
    try await read { reader throws(StoreError) in
      try reader.snapshot { () throws(StoreError) -> UpstreamResponse? in
        guard let serial = try reader.serial(of: id) else { return nil }
        return try reader.keptResponse(of: serial)
      }
    }
  }

  /// See ``EnvelopeStore``.
  package func chain(of lane: LaneName) async throws(StoreError) -> StoredChain? {
    try await read { reader throws(StoreError) in try reader.receipts.chain(of: lane) }
  }

  /// See ``EnvelopeStore``.
  package func receiptGroup(_ number: Int64) async throws(StoreError) -> StoredGroup? {
    try await read { reader throws(StoreError) in try reader.receipts.group(number) }
  }

  /// See ``EnvelopeStore``.
  package func hasReceipts() async throws(StoreError) -> Bool {
    try await read { reader throws(StoreError) in try reader.receipts.hasGroups() }
  }

  /// See ``EnvelopeStore``.
  package func ledger(
    of lane: LaneName, _ numbers: ClosedRange<Int64>, countMax: Int
  ) async throws(StoreError) -> LedgerPage? {
    guard let hash = shared.receiptRules?.hash else { return nil }
    return try await read { reader throws(StoreError) in
      try reader.snapshot { () throws(StoreError) in
        try reader.laneLedger.page(of: lane, numbers, countMax: countMax, hash)
      }
    }
  }

  /// See ``EnvelopeStore``.
  package func answers(
    to keys: Set<String>, for serial: Serial
  ) async throws(StoreError) -> [String: ReferencedAnswer] {
    try await read(on: lineReads) { reader throws(StoreError) in
      try reader.snapshot { () throws(StoreError) -> [String: ReferencedAnswer] in
        var answers: [String: ReferencedAnswer] = [:]
        for key in keys { answers[key] = try reader.answer(to: key, for: serial) }
        return answers
      }
    }
  }

  /// See ``EnvelopeStore``.
  package func bodyBytes(
    of file: StoredBodyFile, from offset: Int64, countMax: Int
  ) async throws(StoreError) -> [UInt8] {
    try await read(isOfTold: true) { _ throws(StoreError) in
      try file.bytes(from: offset, countMax: countMax)
    }
  }

  /// See ``EnvelopeStore``.
  ///
  /// In pieces, so that others have their turns in between.
  package func checkBody(in file: StoredBodyFile) async throws(StoreError) {
    guard let checksum = file.checksum else { return }
    var sum = Checksum()
    var offset: Int64 = 0
    while offset < file.byteCount {
      let from = offset
      let piece = try await bodyBytes(
        of: file, from: from, countMax: StoreTuning.bodyBytesCheckedPerStep)
      piece.withUnsafeBytes { sum.append($0) }
      offset += Int64(piece.count)
    }
    sum.endField()
    guard sum.value == checksum else {
      throw .changed("the body in \(file.path)")
    }
  }

  /// See ``EnvelopeStore``.
  package func list(
    _ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EnvelopePage {
    try await read { reader throws(StoreError) in
      try reader.list(filter, after: serial, countMax: countMax, looksMax: looksMax)
    }
  }

  /// See ``EnvelopeStore``.
  package func summaries(
    of ids: [EnvelopeID]
  ) async throws(StoreError) -> [EnvelopeSummary] {
    try await read { reader throws(StoreError) in try reader.summaries(of: ids) }
  }

  /// See ``EnvelopeStore``.
  package func fates(
    of references: [EnvelopeReference]
  ) async throws(StoreError) -> [EnvelopeFate?] {
    try await read { reader throws(StoreError) in
      try reader.snapshot { () throws(StoreError) -> [EnvelopeFate?] in
        var fates: [EnvelopeFate?] = []
        fates.reserveCapacity(references.count)
        for reference in references { fates.append(try reader.fate(of: reference)) }
        return fates
      }
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
  package func eventLogSpan() async throws(StoreError) -> EventLogSpan {
    try await read { reader throws(StoreError) in try reader.eventLogSpan() }
  }

  /// See ``EnvelopeStore``.
  package func events(
    behind position: EventPosition, _ filter: EventFilter, countMax: Int, looksMax: Int
  ) async throws(StoreError) -> EventPage {
    try await read { reader throws(StoreError) in
      try reader.events(behind: position, filter, countMax: countMax, looksMax: looksMax)
    }
  }

  /// See ``EnvelopeStore``.
  package var commitFigures: CommitFigures { shared.figures.withLock { $0.commits } }

  /// See ``EnvelopeStore``.
  package func statistics() -> StoreStatistics {
    let (ledger, trouble, receipts) = shared.figures.withLock {
      ($0.ledger, $0.trouble, $0.receipts)
    }
    // Known at once, also while nobody writes; the writer then says so as well.
    let displacement = displacement
    var statistics = StoreStatistics(
      envelopes: ledger.envelopes, contentBytes: ledger.contentBytes,
      trouble: displacement?.description ?? trouble,
      latestTime: ledger.latestTime > 0
        ? WallTime(millisecondsSinceEpoch: ledger.latestTime) : nil)
    statistics.names = ledger.names
    statistics.receipts = receipts
    return statistics
  }

  /// See ``EmbeddedStore``.
  package func files() -> StoreFiles {
    let (bodyBytes, logBytes, damage) = shared.figures.withLock {
      ($0.ledger.fileBytes, $0.logBytes, $0.damage)
    }
    let fileBytes =
      DataFolder.size(ofFile: database) + DataFolder.size(ofFile: database + "-wal") + bodyBytes
    let room = shared.room
    let ofLimit = room.limits.storeBytesMax.map { $0 - fileBytes - room.uploads.total } ?? .max
    var files = StoreFiles(
      fileBytes: fileBytes, logBytes: logBytes, roomBytes: max(0, min(room.bytesLeft, ofLimit)))
    files.damage = damage
    files.setAside = shared.start.setAside
    files.mayLackTokens = shared.start.mayLackTokens
    files.startNote = shared.start.note
    return files
  }

  /// See ``EmbeddedStore``.
  package var displacement: StoreError? {
    guard let error = shared.places.displacement() else { return nil }
    if lackOfRoom?.kind != .displaced { shared.inbox.update { $0.isRoomInDoubt = true } }
    return error
  }

  /// See ``EmbeddedStore``.
  package var lackOfRoom: StoreError? { shared.figures.withLock { $0.lackOfRoom } }

  /// See ``EnvelopeStore``.
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
  ///
  /// - Parameter isOfTold: Whether it reads only what the observer was told of before. Else the
  ///   result waits until all that was read has been synced and told.
  func read<Value: Sendable>(
    on queue: WorkQueue<ReadJob>? = nil, isOfTold: Bool = false,
    _ body: @escaping @Sendable (Reader) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let queue = queue ?? reads
    let result: Result<Value, StoreError> = await withUnsafeContinuation { continuation in
      let isQueued = queue.push { [sync = shared.sync] reader in
        let result = Result { () throws(StoreError) -> Value in try body(reader) }
        if isOfTold { return continuation.resume(returning: result) }
        sync.whenTold { continuation.resume(returning: result) }
      }
      if !isQueued { continuation.resume(returning: .failure(.closed(operation: "read"))) }
    }
    return try result.get()
  }
}

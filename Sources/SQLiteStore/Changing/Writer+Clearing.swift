import RelayCore
import SQLite
import Synchronization

// Cancelling what waits of a client, all of it or a part, in one transaction.
extension Writer {
  /// Cancels those of these envelopes that still wait, and are still selected, except those that
  /// the observer wants left alone.
  ///
  /// A reader has looked them up: the thread on which every acceptance waits should not walk along
  /// the line.
  func cancelAll(
    _ serials: [Serial], of selection: BacklogSelection, reason: String
  ) throws(StoreError) -> (count: Int, changingCount: Int) {
    guard let observer else { preconditionFailure(Self.unstarted) }
    let client = selection.client
    reservations.clients.insert(client)
    // The observer can only speak of what it was told of.
    shared.sync.awaitTold()
    let spared = observer.reserveAll(of: client)
    var items: [ClearedBacklog.Item] = []
    for serial in serials {
      guard let item = try waitingItem(serial) else { continue }
      // Who looked it up may have seen another tag.
      if let tag = selection.tag, try self.tag(of: item.serial) != tag { continue }
      items.append(item)
    }
    let (backlog, changingCount) = ChangeRules.clearing(of: client, items, besides: spared)
    for item in backlog.items { try cancel(item, reason: reason) }
    if let place = state.cleared.firstIndex(where: { $0.client == client }) {
      state.cleared[place].merge(backlog)
    } else {
      state.cleared.append(backlog)
    }
    return (backlog.items.count, changingCount)
  }

  private func cancel(
    _ item: ClearedBacklog.Item, reason: String
  ) throws(StoreError) {
    // An end changes nothing that a receipt reports.
    var receipt = Receipt()
    _ = try apply(
      Transition(
        serial: item.serial, lane: item.lane, upstream: item.upstream,
        change: .end(.cancelled, reason: reason), at: clock(), epoch: Self.epoch),
      into: &receipt)
  }

  /// The place of a waiting envelope, perhaps under another number since the line was read; nil if
  /// it no longer waits.
  private func waitingItem(
    _ serial: Serial
  ) throws(StoreError) -> ClearedBacklog.Item? {
    if let item = try place(of: serial) { return item }
    guard let present = try gaps.findMoved.first(serial, read: { $0.int(0) }) else { return nil }
    return try place(of: present)
  }

  /// The tag of an envelope; nil if it has none.
  private func tag(of serial: Serial) throws(StoreError) -> String? {
    try sql.tag.first(serial) { $0.text(0) }.flatMap(\.self)
  }

  private func place(of serial: Serial) throws(StoreError) -> ClearedBacklog.Item? {
    try sql.lineRouting.first(serial) { row throws(StoreError) in
      ClearedBacklog.Item(
        serial: serial, lane: row.lane(0), upstream: row.upstream(1),
        parkedSince: try row.standing(2) == .parked ? row.time(3) : nil)
    }
  }
}

extension Reader {
  /// A page of the line, of which only selected envelopes that were accepted up to a number are
  /// returned, wherever they have moved since.
  func waiting(
    of selection: BacklogSelection, through end: Serial, after serial: Serial, countMax: Int
  ) throws(StoreError) -> (serials: [Serial], scannedThrough: Serial, hasMore: Bool) {
    try snapshot {
      () throws(StoreError) -> (serials: [Serial], scannedThrough: Serial, hasMore: Bool) in
      var lane: LaneNumber?
      if let name = selection.lane {
        lane = try listing.findLane.first(selection.client, name) { $0.lane(0) }
        guard lane != nil else { return ([], serial, false) }
      }
      var serials: [Serial] = []
      var last = serial
      var count = 0
      sql.lineOfClients.set(serial, countMax)
      while try sql.lineOfClients.step() {
        last = sql.lineOfClients.int(0)
        count += 1
        guard sql.lineOfClients.client(1) == selection.client,
          lane == nil || lane == sql.lineOfClients.lane(2),
          try isTagged(last, selection.tag)
        else { continue }
        let accepted = last <= end ? last : try acceptedNumber(of: last)
        if accepted <= end { serials.append(last) }
      }
      return (serials, last, count == countMax)
    }
  }

  /// Whether an envelope has a tag; one that cannot be read is not known to have any.
  ///
  /// - Parameter tag: The tag; nil for any, and for none.
  private func isTagged(_ serial: Serial, _ tag: String?) throws(StoreError) -> Bool {
    guard let tag else { return true }
    do throws(StoreError) {
      return try listing.leading.first(serial) { $0.text(3) }.flatMap(\.self) == tag
    } catch {
      guard error.kind == .corrupt else { throw error }
      return false
    }
  }

  /// The number under which an envelope was accepted, which is in its id.
  private func acceptedNumber(of serial: Serial) throws(StoreError) -> Serial {
    guard let id = try identity(of: serial) else {
      throw .invalidRow("a place without its envelope")
    }
    return id.serial
  }
}

extension SQLiteStore {
  /// See ``EnvelopeStore``.
  package func cancelAll(
    of selection: BacklogSelection, through serial: Serial?, reason: String
  ) async throws(StoreError) -> ClearingReport {
    let through = serial ?? shared.figures.withLock { $0.ledger.lastSerial }
    let serials = try await waiting(of: selection, through: through)
    var report = ClearingReport(count: 0, changingCount: 0, scannedThrough: through)
    guard !serials.isEmpty else { return report }
    (report.count, report.changingCount) = try await write("cancel what waits of a client") {
      writer throws(StoreError) in
      try writer.cancelAll(serials, of: selection, reason: reason)
    }
    return report
  }

  /// The numbers of all that is selected and was accepted up to a number, step by step, so that
  /// others read in between.
  ///
  /// Parked envelopes may be placed behind that number at any moment, so the line is read to its
  /// end.
  func waiting(
    of selection: BacklogSelection, through end: Serial
  ) async throws(StoreError) -> [Serial] {
    var serials: [Serial] = []
    var after: Serial = 0
    while true {
      let from = after
      let step = try await read { reader throws(StoreError) in
        try reader.waiting(
          of: selection, through: end, after: from, countMax: StoreTuning.clearingLooksPerStep)
      }
      serials += step.serials
      guard step.hasMore else { return serials }
      after = step.scannedThrough
    }
  }
}

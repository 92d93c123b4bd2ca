import RelayCore

// Cancelling everything that waits of a client, in one transaction.
extension Writer {
  /// Cancels those of these envelopes that still wait, except those that the observer wants left
  /// alone.
  ///
  /// A reader has looked them up: the thread on which every acceptance waits should not walk along
  /// the line.
  func cancelAll(
    _ serials: [Serial], of client: ClientNumber, reason: String
  ) throws(StoreError) -> (count: Int, changingCount: Int) {
    guard let observer else { preconditionFailure(Self.unstarted) }
    reservations.clients.insert(client)
    let spared = observer.reserveAll(of: client)
    var items: [ClearedBacklog.Item] = []
    for serial in serials {
      if let item = try waitingItem(serial) { items.append(item) }
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
    gaps.findMoved.bind(1, serial)
    guard try gaps.findMoved.step() else { return nil }
    let present = gaps.findMoved.int(0)
    gaps.findMoved.reset()
    return try place(of: present)
  }

  private func place(of serial: Serial) throws(StoreError) -> ClearedBacklog.Item? {
    sql.lineRouting.bind(1, serial)
    guard try sql.lineRouting.step() else { return nil }
    defer { sql.lineRouting.reset() }
    return ClearedBacklog.Item(
      serial: serial, lane: LaneNumber(rawValue: sql.lineRouting.int(0)),
      upstream: UpstreamNumber(rawValue: Int32(truncatingIfNeeded: sql.lineRouting.int(1))),
      isParked: try Standing(code: sql.lineRouting.int(2)) == .parked)
  }
}

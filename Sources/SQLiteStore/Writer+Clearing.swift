import RelayCore
import Synchronization

// All that waits of a client, cancelled in one transaction.
extension Writer {
  /// Cancels what still waits of these, but for what the observer wants left alone.
  ///
  /// They were looked up by a reader: walking along the line is not for the thread on which every
  /// acceptance waits.
  func cancelAll(
    _ serials: [Serial], of client: ClientNumber, reason: String
  ) throws(StoreError) -> (count: Int, changingCount: Int) {
    guard let observer = shared.observer.withLock({ $0 }) else {
      preconditionFailure("start(observer:) comes before any other call")
    }
    clearing.insert(client)
    let spared = observer.reserveAll(of: client)
    var items: [ClearedBacklog.Item] = []
    var changingCount = 0
    for serial in serials {
      guard let item = try waiting(serial) else { continue }
      guard !spared.contains(item.serial) else {
        if spared.changing.contains(item.serial) { changingCount += 1 }
        continue
      }
      try cancel(item, reason: reason)
      items.append(item)
    }
    // What has moved stands behind all that was there when the line was read.
    items.sort { $0.serial < $1.serial }
    var backlog = ClearedBacklog(client: client)
    for item in items { backlog.append(item) }
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
    // An end changes nothing that a receipt would have to tell.
    var receipt = Receipt()
    _ = try apply(
      Transition(
        serial: item.serial, lane: item.lane, upstream: item.upstream,
        change: .end(.cancelled, reason: reason), at: clock(), epoch: Self.epoch),
      into: &receipt)
  }

  /// Where an envelope waits, be it under another number since the line was read; nil if it waits
  /// no longer.
  private func waiting(_ serial: Serial) throws(StoreError) -> ClearedBacklog.Item? {
    if let item = try place(of: serial) { return item }
    gaps.findMoved.bind(1, serial)
    guard try gaps.findMoved.step() else { return nil }
    let present = gaps.findMoved.int(0)
    gaps.findMoved.reset()
    return try place(of: present)
  }

  private func place(of serial: Serial) throws(StoreError) -> ClearedBacklog.Item? {
    sql.wayOfLine.bind(1, serial)
    guard try sql.wayOfLine.step() else { return nil }
    defer { sql.wayOfLine.reset() }
    return ClearedBacklog.Item(
      serial: serial, lane: LaneNumber(rawValue: sql.wayOfLine.int(0)),
      upstream: UpstreamNumber(rawValue: Int32(truncatingIfNeeded: sql.wayOfLine.int(1))),
      isParked: try Standing(code: sql.wayOfLine.int(2)) == .parked)
  }

  /// Takes what the transaction has cancelled, to be told once it is committed.
  func takeCleared() -> [ClearedBacklog] {
    defer { state.cleared = [] }
    return state.cleared
  }

  /// Lets go of clients of whose backlog nothing was cancelled in the end.
  func releaseClearing(besides cleared: [ClearedBacklog] = []) {
    guard !clearing.isEmpty else { return }
    clearing.subtract(cleared.lazy.map(\.client))
    if !clearing.isEmpty { shared.observer.withLock { $0 }?.clearingFailed(of: clearing) }
    clearing = []
  }
}

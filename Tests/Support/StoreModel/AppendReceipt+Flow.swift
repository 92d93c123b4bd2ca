import RelayCore

extension AppendReceipt {
  /// Puts in line what was parked and waits for nothing any more, so many at the most.
  mutating func flow(in tables: inout ModelTables, countMax: Int) {
    var left = countMax
    for lane in flowing.sorted() where left > 0 {
      let (placed, hasMore) = tables.placeParked(of: lane, countMax: left)
      place(placed, of: lane, hasMore: hasMore)
      left -= placed.count
    }
  }
}

import RelayCore

/// Endings that are still to be added to the counts of their lanes.
///
/// A lane's row can be anywhere in its table: updating it at every delivery would write a page for
/// each. Instead each transaction appends one row that lists what ended, a few bytes each, and once
/// enough are listed, they are added up by lane in one go. A reader of a lane's counts adds the
/// listed ones in the same snapshot; so both are right at every commit, and after a crash.
struct EndedLog {
  /// One lane's changes, by end code minus one.
  ///
  /// An entry has two bits for the end, and those are used up: a fifth end needs another form.
  typealias Counts = InlineArray<4, Int64>

  /// The entries of the present transaction.
  private(set) var entries: [UInt8] = []
  /// The number of entries in ``entries``.
  private(set) var entryCount = 0
  /// The number of entries in the table.
  var loggedCount = 0

  /// Lists an ending, or the deletion of an envelope that had ended.
  mutating func append(lane: LaneNumber, endCode: Int64, isDeletion: Bool) {
    entries.append(
      leastFirst: UInt64(lane.rawValue) << 3 | UInt64(endCode - 1) << 1 | (isDeletion ? 1 : 0))
    entryCount += 1
  }

  /// Forgets the transaction's entries, since they have been written.
  mutating func clear() {
    entries.removeAll(keepingCapacity: true)
    entryCount = 0
  }

  /// Calls `body` with each entry of a row: the lane, the end's index, and +1 or -1.
  static func forEach(
    in entries: [UInt8], _ body: (_ lane: Int64, _ end: Int, _ difference: Int64) -> Void
  ) {
    var word: UInt64 = 0
    var shift: UInt64 = 0
    for byte in entries {
      word |= UInt64(byte & 0x7F) << shift
      shift += 7
      if byte >= 0x80 { continue }
      body(Int64(word >> 3), Int(word >> 1 & 3), word & 1 == 1 ? -1 : 1)
      word = 0
      shift = 0
    }
  }
}

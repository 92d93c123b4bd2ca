import RelayCore
import SQLite

/// The work that lasting damage keeps the writer from, for as long as the process lives.
struct LastingDamage {
  /// So many numbers are remembered of each kind; what is beyond them is tried each time.
  static let numbersMax = 65_536
  /// So many stretches of ended envelopes are gone round.
  static let stretchesMax = 256

  /// Lanes whose rows cannot be written, so that nothing is added up in them.
  var uncounted: Set<LaneNumber> = []
  /// Whether what ends cannot be listed.
  var isListLost = false
  /// The ended envelopes that were kept long enough and cannot be deleted.
  var undeleted: Set<Serial> = []
  /// Numbers between which nothing that has ended can be read.
  private(set) var unreadableEnded: [ClosedRange<Serial>] = []

  /// Takes over what a transaction has met.
  mutating func note(_ exceptions: Exceptions) {
    if uncounted.count < Self.numbersMax { uncounted.formUnion(exceptions.uncounted) }
    if undeleted.count < Self.numbersMax { undeleted.formUnion(exceptions.undeleted) }
    if exceptions.isListLost { isListLost = true }
  }

  /// The place from which to look for ended envelopes, so that known damage is not met again.
  func endedToRead(from serial: Serial) -> Serial {
    var serial = serial
    while let stretch = unreadableEnded.first(where: { $0.contains(serial) }) {
      serial = stretch.upperBound + 1
    }
    return serial
  }

  /// Goes round these from now on.
  ///
  /// - Returns: Whether there is room to remember it.
  mutating func goRound(_ stretch: ClosedRange<Serial>) -> Bool {
    if let last = unreadableEnded.last, last.upperBound + 1 == stretch.lowerBound {
      unreadableEnded[unreadableEnded.count - 1] = last.lowerBound...stretch.upperBound
      return true
    }
    guard unreadableEnded.count < Self.stretchesMax else { return false }
    unreadableEnded.append(stretch)
    return true
  }
}

// What a transaction has gathered in memory is written at its end. Damage met there is nobody's in
// particular: what it keeps from being written is left out for good, and everything else goes on.
extension Writer {
  /// Writes what was gathered in memory.
  func seal() throws(StoreError) {
    var chains = try makeReceipts()
    for (lane, sequence) in state.sequences {
      let chain = chains.removeValue(forKey: lane)
      try part(.numbering(lane)) { () throws(StoreError) in
        if let chain {
          try receipts.keepNumbered.run(sequence, chain?.bytes, lane)
        } else {
          try sql.updateSequence.run(sequence, lane)
        }
      }
    }
    state.sequences.removeAll(keepingCapacity: true)
    for (lane, chain) in chains {
      try unlessLeftOut(.receipts) { () throws(StoreError) in
        try receipts.keepChain.run(chain?.bytes, lane)
      }
    }
    try sealEndedLog()
    try sealEventLog()
    guard state.ledger != committed.ledger else { return }
    // Without it a start refuses the store; a salvage counts anew.
    try unlessLeftOut(.counts) { () throws(StoreError) in
      try state.ledger.write(to: sql.updateLedger)
    }
  }

  /// Does something that the store can go on without; nothing once that is left out.
  func unlessLeftOut(
    _ part: StoreDamage.Part, _ body: () throws(StoreError) -> Void
  ) throws(StoreError) {
    guard !state.damage.leftOut.contains(part) else { return }
    try self.part(.part(part), body)
  }

  /// Leaves out, or goes round, what was being done when an error was met; called between two
  /// transactions.
  ///
  /// - Returns: Whether there is any sense in trying again.
  func goRound(_ error: StoreError) -> Bool {
    if error.kind == .corrupt, case .ended(let serial) = exceptions.step,
      lasting.goRound(serial...lastUnreadableEnded(from: serial))
    {
      exceptions.noteUnreadableEnded(error)
      return true
    }
    let isLeftOut = exceptions.leaveOut(error)
    lasting.note(exceptions)
    return isLeftOut
  }

  /// Up to which number nothing that has ended can be read.
  ///
  /// A page has all rows between two numbers. So it is looked on, twice as far each time, until a
  /// row can be read, and then between this and the last look that failed. Outside of a transaction
  /// nothing comes of a look that fails.
  private func lastUnreadableEnded(from first: Serial) -> Serial {
    let end = state.ledger.lastSerial + 1
    var (unreadable, readable, step) = (first, end, Int64(1))
    while unreadable + step < end {
      if isEndedReadable(from: unreadable + step) {
        readable = unreadable + step
        break
      }
      unreadable += step
      step *= 2
    }
    while readable - unreadable > 1 {
      let middle = unreadable + (readable - unreadable) / 2
      if isEndedReadable(from: middle) { readable = middle } else { unreadable = middle }
    }
    return max(first, readable - 1)
  }

  private func isEndedReadable(from serial: Serial) -> Bool {
    do throws(StoreError) {
      _ = try sql.nextEnded.hasRow(serial)
      return true
    } catch {
      return false
    }
  }
}

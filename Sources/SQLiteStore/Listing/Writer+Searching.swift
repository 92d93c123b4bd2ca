import RelayCore
import SQLite

// Searches by client and tag use a row for each block of envelopes, written when it is full. Damage
// there keeps no envelope from being stored: searches then scan the envelopes.
extension Writer {
  /// Notes the search terms of the envelope with the latest number.
  func noteForSearch(
    _ serial: Serial, client: Int64, tag: String?
  ) throws(StoreError) {
    try unlessLeftOut(.searches) { () throws(StoreError) in
      try openSearchBlock(with: serial)
      searchBlock?.block?.append(SearchTerm(client: client), at: serial)
      if let tag { searchBlock?.block?.append(SearchTerm(tag: tag), at: serial) }
    }
  }

  /// Notes a tag that an envelope has got later.
  func noteForSearch(_ serial: Serial, tag: String?) throws(StoreError) {
    guard let tag else { return }
    try unlessLeftOut(.searches) { () throws(StoreError) in
      let number = SearchBlock.number(of: serial)
      let term = SearchTerm(tag: tag)
      guard number != SearchBlock.number(of: state.ledger.lastSerial) else {
        // A block that is not in memory is read again later, with this tag.
        guard searchBlock?.number == number else { return }
        searchBlock?.block?.insert(term, at: serial)
        if let count = searchBlock?.block?.count, count > SearchBlock.entriesMax {
          searchBlock?.block = nil
        }
        return
      }
      try insert(term, at: serial, in: number)
    }
  }

  /// Deletes the blocks that have no envelope left.
  func forgetSearchBlocks(of numbers: Set<Int64>) throws(StoreError) {
    try unlessLeftOut(.searches) { () throws(StoreError) in
      for number in numbers {
        let range = SearchBlock.range(of: number)
        try search.forgetEmptied.run(number, range.lowerBound, range.upperBound)
      }
    }
  }

  /// Adds a term to a block that has been written.
  private func insert(
    _ term: SearchTerm, at serial: Serial, in number: Int64
  ) throws(StoreError) {
    guard let stored = try storedSearchBlock(number) else { return }
    guard !SearchBlock.has(term, at: serial, in: stored) else { return }
    var block = SearchBlock(stored: stored)
    block?.insert(term, at: serial)
    try write(block, number: number)
  }

  /// Reads the open block after a start, or after a transaction that was rolled back.
  ///
  /// Called between two transactions: within one, SQLite would not commit after it has met a
  /// damaged page.
  func prepareSearchBlock() throws(StoreError) {
    guard searchBlock == nil, !state.damage.leftOut.contains(.searches) else { return }
    let number = SearchBlock.number(of: state.ledger.lastSerial)
    var block: SearchBlock? = SearchBlock()
    search.terms.set(SearchBlock.range(of: number).lowerBound, state.ledger.lastSerial)
    do throws(StoreError) {
      while try search.terms.step() {
        let serial = search.terms.int(0)
        block?.append(SearchTerm(client: search.terms.int(1)), at: serial)
        if let tag = search.terms.text(2) { block?.append(SearchTerm(tag: tag), at: serial) }
      }
    } catch {
      guard error.kind == .corrupt else { throw error }
      block = nil
    }
    searchBlock = OpenSearchBlock(number: number, block: block)
  }

  /// Opens the block of a new number, and writes the one before it, which is full.
  private func openSearchBlock(with serial: Serial) throws(StoreError) {
    let number = SearchBlock.number(of: serial)
    guard let open = searchBlock, open.number != number else { return }
    try write(open.block, number: open.number)
    searchBlock = OpenSearchBlock(number: number, block: SearchBlock())
  }

  private func storedSearchBlock(_ number: Int64) throws(StoreError) -> [UInt8]? {
    try search.find.first(number) { $0.bytes(0) }
  }

  /// Writes a block; one that cannot be stored has no row, and is scanned.
  private func write(_ block: SearchBlock?, number: Int64) throws(StoreError) {
    guard let bytes = block?.stored() else {
      return try search.forget.run(number)
    }
    search.store.set(number, Int64(bytes.count / SearchBlock.entryBytes))
    try search.store.runBorrowing(3, bytes)
  }
}

import EventLoop
import RelayCore

extension Reader {
  /// The envelopes that pass a filter, behind `serial`; see ``EnvelopeStore``.
  func list(
    _ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) throws(StoreError) -> EnvelopePage {
    try snapshot { () throws(StoreError) -> EnvelopePage in
      guard let filter = try ListingFilter(filter, self) else {
        return EnvelopePage(envelopes: [], scannedThrough: serial, hasMore: false)
      }
      defer {
        listing.line.reset()
        listing.ended.reset()
      }
      return try walk(filter, after: serial, countMax: countMax, looksMax: looksMax)
    }
  }

  /// What is shown of some envelopes, all in one snapshot; see ``EnvelopeStore``.
  func summaries(of ids: [EnvelopeID]) throws(StoreError) -> [EnvelopeSummary] {
    try snapshot { () throws(StoreError) -> [EnvelopeSummary] in
      var summaries: [EnvelopeSummary] = []
      for id in ids {
        guard let serial = try serial(of: id) else { continue }
        if let summary = try readableSummary(of: serial) { summaries.append(summary) }
      }
      return summaries
    }
  }

  /// Goes along both narrow tables at once, in the order of acceptance.
  private func walk(
    _ filter: ListingFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) throws(StoreError) -> EnvelopePage {
    var filter = filter
    var page = EnvelopePage(envelopes: [], scannedThrough: serial, hasMore: true)
    let deadline = MonotonicClock.now().adding(milliseconds: StoreTuning.listingMsMax)
    var looks = 0
    var isInLine = try beginLine(filter, after: serial)
    var isInEnded = try beginEnded(filter, after: serial)
    while isInLine || isInEnded {
      guard page.envelopes.count < countMax, looks < looksMax else { return page }
      // The first stretch is gone through whatever the clock says, so that each call gets on.
      if looks > 0, looks % StoreTuning.listingLooksPerClock == 0, MonotonicClock.now() >= deadline
      {
        return page
      }
      looks += 1
      if isInLine, !isInEnded || listing.line.int(0) < listing.ended.int(0) {
        page.scannedThrough = listing.line.int(0)
        if try filter.passes(lineOf: self),
          let summary = try readableSummary(of: page.scannedThrough)
        {
          page.envelopes.append(summary)
        }
        isInLine = try listing.line.step()
      } else {
        page.scannedThrough = listing.ended.int(0)
        if try filter.passes(endedOf: self),
          let summary = try readableSummary(of: page.scannedThrough)
        {
          page.envelopes.append(summary)
        }
        isInEnded = try listing.ended.step()
      }
    }
    page.hasMore = false
    return page
  }

  private func beginLine(
    _ filter: ListingFilter, after serial: Serial
  ) throws(StoreError) -> Bool {
    guard filter.wantsWaiting else { return false }
    listing.line.bind(1, max(serial, filter.lineRange.lowerBound - 1))
    listing.line.bind(2, filter.lineRange.upperBound)
    return try listing.line.step()
  }

  private func beginEnded(
    _ filter: ListingFilter, after serial: Serial
  ) throws(StoreError) -> Bool {
    guard !filter.endCodes.isEmpty else { return false }
    listing.ended.bind(1, serial)
    return try listing.ended.step()
  }

  /// What is shown of one envelope, or what is left of it; nil for one that cannot be read and is
  /// not quarantined: the others are shown all the same.
  private func readableSummary(of serial: Serial) throws(StoreError) -> EnvelopeSummary? {
    do throws(StoreError) {
      return try summary(of: serial)
    } catch {
      listing.summary.reset()
      guard error.kind == .corrupt else { throw error }
      guard let id = try quarantinedID(of: serial) else { return nil }
      return try quarantined(id).map { EnvelopeSummary($0) }
    }
  }

  /// What is shown of one envelope that is known to be there.
  private func summary(of serial: Serial) throws(StoreError) -> EnvelopeSummary {
    let row = listing
    row.summary.bind(1, serial)
    guard try row.summary.step() else { throw .senseless("a state without its envelope") }
    defer { row.summary.reset() }
    let id = try EnvelopeID(stored: row.summary.bytes(0))
    guard let state = try stateOf(id, serial) else {
      throw .senseless("an envelope without a state")
    }
    var summary = EnvelopeSummary(
      id: id, terms: terms(), lane: LaneNumber(rawValue: row.summary.int(14)),
      bodyBytes: row.summary.isNull(13) ? try bodyFile(of: serial).byteCount : row.summary.int(13),
      fate: state.fate, dueAt: state.dueAt, lastError: try lastError(of: serial, state))
    summary.isInDoubt = state.isInDoubt
    return summary
  }

  private func terms() -> EnvelopeSummary.Terms {
    let row = listing
    return EnvelopeSummary.Terms(
      client: row.summary.text(1) ?? "", lane: row.summary.text(2) ?? "",
      upstream: row.summary.text(3) ?? "", method: row.summary.text(11) ?? "",
      target: row.summary.bytes(12), key: row.summary.text(4),
      sequence: row.summary.optionalInt(5), tag: row.summary.text(6),
      hold: row.summary.int(7) != 0, notBefore: WallTime(row.summary.optionalInt(8)),
      expiresAt: WallTime(millisecondsSinceEpoch: row.summary.int(9)),
      onFailure: FailurePolicy(code: row.summary.int(10)),
      references: row.summary.int(15) != 0, coalesce: row.summary.text(16))
  }

  private func lastError(
    of serial: Serial, _ state: StoredState
  ) throws(StoreError) -> String? {
    if state.hasLastAttempt { return state.lastError }
    listing.lastError.bind(1, serial)
    guard try listing.lastError.step() else { return nil }
    defer { listing.lastError.reset() }
    return listing.lastError.text(0)
  }

  /// The number under which a statement finds a name; nil if there is none.
  func number(
    _ statement: borrowing Statement, _ name: String
  ) throws(StoreError) -> Int64? {
    statement.bind(1, name)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return statement.int(0)
  }
}

import EventLoop
import RelayCore
import SQLite

extension Reader {
  /// The envelopes after `serial` that pass a filter; see ``EnvelopeStore``.
  func list(
    _ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) throws(StoreError) -> EnvelopePage {
    try snapshot { () throws(StoreError) -> EnvelopePage in
      guard let filter = try ListingFilter(filter, self) else {
        return EnvelopePage(envelopes: [], scannedThrough: serial, hasMore: false)
      }
      return try walk(filter, after: serial, countMax: countMax, looksMax: looksMax)
    }
  }

  /// The summaries of some envelopes, all in one snapshot; see ``EnvelopeStore``.
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

  /// The state of a listing.
  private struct Course {
    var filter: ListingFilter
    var page: EnvelopePage
    var looksLeft: Int
    /// Whether the filter's states make up a good part of all envelopes, in line and ended.
    let isDense: (line: Bool, ended: Bool)
    let countMax: Int
    let deadline: MonotonicTime

    var isFull: Bool { page.envelopes.count >= countMax }
    var isOver: Bool { isFull || looksLeft <= 0 }
  }

  /// Walks all envelopes after a number, a stretch at a time, so that the clock is checked whatever
  /// the database leaves out by itself.
  private func walk(
    _ filter: ListingFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) throws(StoreError) -> EnvelopePage {
    var course = Course(
      filter: filter, page: EnvelopePage(envelopes: [], scannedThrough: serial, hasMore: true),
      looksLeft: looksMax, isDense: try density(filter), countMax: countMax,
      deadline: MonotonicClock.now().adding(milliseconds: StoreTuning.listingMsMax))
    if let time = filter.selection.accepted.since {
      course.page.scannedThrough = max(serial, try lastSerial(before: time))
    }
    let last = try last(filter)
    let terms = filter.searchTerms
    // The first stretch is walked whatever the clock says, so that each call makes progress.
    while let first = try first(filter, behind: course.page.scannedThrough), first <= last {
      guard !course.isOver else { return course.page }
      let width = min(StoreTuning.listingStretch, course.looksLeft)
      var end = min(last, first - 1 + Int64(width))
      if terms.isEmpty {
        course.looksLeft -= width
        guard try walk(&course, through: end) else { return course.page }
      } else {
        end = min(end, SearchBlock.range(of: SearchBlock.number(of: first)).upperBound)
        guard try search(&course, terms, first...end) else { return course.page }
      }
      course.page.scannedThrough = end
      guard end == last || MonotonicClock.now() < course.deadline else { return course.page }
    }
    course.page.hasMore = false
    return course.page
  }

  /// A number up to which everything was accepted before a time: the last one, if it can be told.
  ///
  /// Numbers grow with the time of acceptance. What was parked has got a later number since, so its
  /// own time is earlier than its place says: it is passed over, and proves nothing.
  private func lastSerial(before time: WallTime) throws(StoreError) -> Serial {
    var low: Serial = 0
    var high = max(try listing.line.last() ?? 0, try listing.ended.last() ?? 0) + 1
    while high - low > 1 {
      let middle = low + (high - low) / 2
      let found: [(serial: Serial, id: EnvelopeID)]
      do throws(StoreError) {
        found = try listing.idsFrom.rows(middle, high, StoreTuning.listingIDsPerProbe) {
          row throws(StoreError) in (row.int(0), try row.id(1))
        }
      } catch {
        guard error.kind == .corrupt else { throw error }
        return low
      }
      if let first = found.first(where: { $0.id.serial == $0.serial }),
        first.id.acceptedAt < time
      {
        low = first.serial
      } else {
        high = middle
      }
    }
    return low
  }

  /// Searches a stretch that may have an index; false if it was left before its end.
  private func search(
    _ course: inout Course, _ terms: [SearchTerm], _ range: ClosedRange<Serial>
  ) throws(StoreError) -> Bool {
    guard let serials = try serials(terms, range) else {
      course.looksLeft -= range.count
      return try walk(&course, through: range.upperBound)
    }
    course.looksLeft -= serials.count + 1
    for serial in serials {
      course.page.scannedThrough = max(course.page.scannedThrough, serial - 1)
      guard try walk(&course, through: serial, .none) else { return false }
    }
    return true
  }

  /// The envelopes that a block's index names for all of these terms; nil if it has no index, or
  /// the terms are everywhere.
  private func serials(
    _ terms: [SearchTerm], _ range: ClosedRange<Serial>
  ) throws(StoreError) -> [Serial]? {
    let number = SearchBlock.number(of: range.lowerBound)
    let block: [UInt8]?
    do throws(StoreError) {
      block = try listing.searchBlock.first(number) { $0.bytes(0) }
    } catch {
      guard error.kind == .corrupt else { throw error }
      return nil
    }
    guard let stored = block else { return nil }
    var places: [UInt16]?
    for term in terms {
      switch SearchBlock.places(of: term, in: stored) {
      case nil: return nil
      case .everywhere: break
      case .named(let found): places = places.map { $0.filter(found.contains) } ?? found
      }
    }
    let start = SearchBlock.range(of: number).lowerBound
    return places?.map { start + Int64($0) }.filter(range.contains)
  }

  /// Walks a stretch; false if it was left before its end.
  private func walk(_ course: inout Course, through end: Serial) throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try walk(&course, through: end, course.filter.sieve)
    } catch {
      // The sieve reads more than the walk alone needs; without it, each row is judged by itself.
      guard error.kind == .corrupt, course.filter.sieve != .none else { throw error }
      return try walk(&course, through: end, .none)
    }
  }

  /// Walks along both narrow tables at once, in the order of acceptance.
  private func walk(
    _ course: inout Course, through end: Serial, _ sieve: ListingPrefilter
  ) throws(StoreError) -> Bool {
    let filter = course.filter
    let start = course.page.scannedThrough
    let line = listing.line.walk(
      behind: max(start, filter.lineRange.lowerBound - 1),
      through: min(end, filter.lineRange.upperBound), states: filter.standings, sieve,
      ended: filter.selection.ended, isDense: course.isDense.line)
    let ended = listing.ended.walk(
      behind: start, through: end, states: filter.ends, sieve, ended: filter.selection.ended,
      isDense: course.isDense.ended)
    defer {
      line.statement.reset()
      ended.statement.reset()
    }
    var isInLine = filter.standings != 0 ? try line.statement.step() : false
    var isInEnded = filter.ends != 0 ? try ended.statement.step() : false
    var looks = 0
    while isInLine || isInEnded {
      looks += 1
      guard !course.isFull,
        looks % StoreTuning.listingLooksPerClock != 0
          || MonotonicClock.now() < course.deadline
      else { return false }
      let passes: Bool
      let isLine = isInLine && (!isInEnded || line.statement.int(0) < ended.statement.int(0))
      let serial = isLine ? line.statement.int(0) : ended.statement.int(0)
      if isLine {
        passes = try course.filter.passes(line: LineRow(line.statement), self)
        isInLine = try line.statement.step()
      } else {
        passes = try course.filter.passes(ended: serial, self)
        isInEnded = try ended.statement.step()
      }
      if passes, let summary = try readableSummary(of: serial), filter.selection.passes(summary) {
        course.page.envelopes.append(summary)
      }
      course.page.scannedThrough = serial
    }
    return true
  }

  /// Whether so many envelopes are in the states of a filter that scanning all envelopes is faster
  /// than looking each of them up.
  private func density(_ filter: ListingFilter) throws(StoreError) -> (line: Bool, ended: Bool) {
    do throws(StoreError) {
      guard try listing.counts.step() else { return (true, true) }
    } catch {
      guard error.kind == .corrupt else { throw error }
      return (true, true)
    }
    defer { listing.counts.reset() }
    let endsFrom = Standing.columns.count
    let counts = (0..<(endsFrom + EnvelopeState.endColumns.count)).map { place in
      listing.counts.int(Int32(place))
    }
    func share(_ counts: ArraySlice<Int64>, _ mask: Int64) -> Int64 {
      zip(0..., counts).reduce(0) { sum, count in
        (mask >> count.0) & 1 == 1 ? sum + count.1 : sum
      }
    }
    let all = counts.reduce(0, +)
    let part = StoreTuning.listingDensePart
    return (
      share(counts[..<endsFrom], filter.standings) * part >= all,
      share(counts[endsFrom...], filter.ends >> 1) * part >= all
    )
  }

  /// The first envelope after a number that the filter may be about; nil if there is none.
  private func first(_ filter: ListingFilter, behind serial: Serial) throws(StoreError) -> Serial? {
    let start = max(serial, filter.lineRange.lowerBound - 1)
    let line = filter.standings != 0 ? try listing.line.first(behind: start) : nil
    let ended = filter.ends != 0 ? try listing.ended.first(behind: serial) : nil
    guard let line, let ended else { return line ?? ended }
    return min(line, ended)
  }

  /// The last envelope that the filter may be about; later ones are for a later call.
  private func last(_ filter: ListingFilter) throws(StoreError) -> Serial {
    let line = filter.standings != 0 ? try listing.line.last() : nil
    let ended = filter.ends != 0 ? try listing.ended.last() : nil
    return max(min(line ?? 0, filter.lineRange.upperBound), ended ?? 0)
  }

  /// The summary of an envelope, or of the rest of it; nil if it cannot be read and is not
  /// quarantined, so that the others are shown all the same.
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

  /// The summary of an existing envelope.
  private func summary(of serial: Serial) throws(StoreError) -> EnvelopeSummary {
    try listing.summary.one(serial, or: "a state without its envelope") { row throws(StoreError) in
      let id = try row.id(0)
      guard let state = try stateOf(id, serial) else {
        throw .invalidRow("an envelope without a state")
      }
      var summary = EnvelopeSummary(
        id: id, terms: EnvelopeSummary.Terms(row), lane: row.lane(14),
        bodyBytes: row.isNull(13) ? try bodyFile(of: serial).byteCount : row.int(13),
        fate: state.fate, dueAt: state.dueAt, lastError: try lastError(of: serial, state))
      summary.isInDoubt = state.isInDoubt
      return summary
    }
  }

  private func lastError(
    of serial: Serial, _ state: StoredState
  ) throws(StoreError) -> String? {
    if state.hasLastAttempt { return state.lastError }
    return try listing.lastError.first(serial) { $0.text(0) } ?? nil
  }
}

extension EnvelopeSummary.Terms {
  /// The terms in the present row of ``ListingStatements/summary``.
  fileprivate init(_ row: borrowing Statement) {
    self.init(
      client: row.text(1) ?? "", lane: row.text(2) ?? "", upstream: row.text(3) ?? "",
      method: row.text(11) ?? "", target: row.bytes(12), key: row.text(4),
      sequence: row.optionalInt(5), tag: row.text(6), hold: row.bool(7),
      notBefore: row.optionalTime(8), expiresAt: row.time(9), onFailure: row.failurePolicy(10),
      references: row.bool(15), coalesce: row.text(16))
  }
}

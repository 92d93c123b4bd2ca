#if PostgreSQL
import EventLoop
import RelayCore
import Synchronization

// Lists, and what is asked of many envelopes at once.
extension PostgresStore {
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
    let serials = ids.map { serial(in: $0) }
    return try await read { reader throws(StoreError) in
      try reader.summaries(of: ids, postedUnder: serials)
    }
  }

  /// See ``EnvelopeStore``.
  package func fates(
    of references: [EnvelopeReference]
  ) async throws(StoreError) -> [EnvelopeFate?] {
    try await read { [self] reader throws(StoreError) in
      try reader.fates(of: references) { serial(in: $0) }
    }
  }

  /// See ``EnvelopeStore``.
  package func answers(
    to keys: Set<String>, for serial: Serial
  ) async throws(StoreError) -> [String: ReferencedAnswer] {
    try await read { reader throws(StoreError) in try reader.answers(to: keys, for: serial) }
  }

  /// See ``EnvelopeStore``.
  package func clients(
    prefix: String, after name: String, countMax: Int
  ) async throws(StoreError) -> ClientPage {
    try await read { reader throws(StoreError) in
      try reader.clients(prefix: prefix, after: name, countMax: countMax)
    }
  }

  /// See ``EnvelopeStore``.
  package func lanes(
    of client: String?, after number: LaneNumber?, countMax: Int
  ) async throws(StoreError) -> LaneNamePage {
    try await read { reader throws(StoreError) in
      try reader.lanes(of: client, after: number, countMax: countMax)
    }
  }

  /// See ``EnvelopeStore``.
  ///
  /// One step after the other: each is short, so that the database is never silent for long.
  package func lineSummary(after serial: Serial) async throws(StoreError) -> LineSummary {
    try await lineSummary(after: serial, CountingPace())
  }

  /// The same, with so many envelopes counted in one step as a pace says.
  func lineSummary(
    after serial: Serial, _ pace: CountingPace
  ) async throws(StoreError) -> LineSummary {
    var pace = pace
    // What is put in line meanwhile has a greater number, and so has what moves.
    let last = shared.figures.withLock { $0.given.lastSerial }
    var summary = LineSummary()
    var next: Serial? = serial
    while let after = next {
      let (step, begin) = (pace.step, MonotonicClock.now())
      let counted = try await read { reader throws(StoreError) in
        try reader.count(after: after, through: last, countMax: step)
      }
      pace.note(durationMs: MonotonicClock.now().milliseconds(since: begin))
      summary.add(counted.summary)
      next = counted.rest
    }
    return summary
  }

  /// See ``EnvelopeStore``.
  package func expiredEntries(
    at now: WallTime, countMax: Int
  ) async throws(StoreError) -> ExpiryPage {
    let walk = shared.walks.withLock { $0.expiry }
    let found = try await read { reader throws(StoreError) in
      try reader.expired(at: now, after: walk.cursor, countMax: countMax)
    }
    let earliest = [walk.nextDeadline, found.nextDeadline].compactMap(\.self).min()
    shared.walks.withLock { walks in
      walks.expiry = StoreWalks.ExpiryWalk()
      guard let rest = found.rest else { return }
      walks.expiry = StoreWalks.ExpiryWalk(cursor: rest, nextDeadline: earliest)
    }
    return ExpiryPage(
      expired: found.expired, isRoundDone: found.rest == nil,
      nextDeadline: found.rest == nil ? earliest : nil)
  }

  /// See ``EnvelopeStore``.
  ///
  /// It waits for nothing: the store itself does that from its start on, since it knows the lanes
  /// in which something is parked (``DatabaseWriter/flowing``).
  package func placeParked() async throws(StoreError) {}

  /// See ``EnvelopeStore``.
  package var commitFigures: CommitFigures { shared.figures.withLock { $0.commits } }
}
#endif

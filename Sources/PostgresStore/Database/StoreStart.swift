#if PostgreSQL
import Postgres
import RelayCore

/// What a store knows when it starts.
struct StoreStart: Sendable {
  /// The numbers that have been given out, and how many names are known.
  var given = GivenNumbers()
  /// Up to where numbers are set apart.
  private(set) var setApart = GivenNumbers()
  private(set) var figures = StoreFigures()
  /// Lanes in which something is parked.
  private(set) var parkedLanes: Set<LaneNumber> = []
  private(set) var upstreams: [String: UpstreamNumber] = [:]
  private(set) var eventLog = EventLog()
  /// The clients that check in.
  private(set) var checkingIn: Set<ClientNumber> = []
  /// The store's identity in receipts.
  private(set) var receiptOrigin: [UInt8] = []
  /// Whether there are keys that are remembered longer than their envelopes.
  private(set) var remembersKeys = false
  /// Whether there are bodies that no envelope refers to.
  private(set) var hasPendingBodies = false

  /// Reads, and tries again if the database cannot be reached, or has no room: it could a moment
  /// ago.
  ///
  /// Other errors, such as a lock that an operator holds, are borne for ``LeaseLimits/refusalMs``.
  ///
  /// - Parameters:
  ///   - epoch: The one under which the store was taken.
  ///   - lease: Once it is lost, somebody else has the store.
  ///   - durability: How safe commits are to be; that is looked at, too.
  ///   - tell: Is told what went wrong, each time.
  ///   - isOver: Waits for so many milliseconds; whether to try no more after that.
  /// - Throws: ``StoreError/Kind/leaseLost`` if the lease is lost.
  static func read(
    at servers: ServerChoice, takenUnder epoch: Int64, _ lease: Lease,
    _ durability: StoreDurability, tell: (StoreError) -> Void,
    isOver: (_ milliseconds: Int64) -> Bool
  ) throws(StoreError) -> StoreStart {
    let limits = lease.limits.lease
    let bearsUntil = Lease.now().adding(milliseconds: limits.refusalMs)
    while true {
      do throws(StoreError) {
        let reader = try DatabaseReader.forStart(at: servers)
        var start = try StoreStart(reader, takenUnder: epoch)
        if durability.isLookedAt {
          start.figures.durability = try DurabilityReading(
            reader, asksForStandbys: durability.needsStandbys)
        }
        return start
      } catch {
        if let lost = lease.lost { throw lost }
        let isLasting = [.inputOutput, .diskFull].contains(error.kind)
        guard isLasting || Lease.now() < bearsUntil else { throw error }
        tell(error)
        guard !isOver(limits.beatMs) else { throw error }
        if let lost = lease.lost { throw lost }
      }
    }
  }

  /// Reads, and counts what no relay has kept, once the seat was taken: nobody else writes then.
  ///
  /// - Parameters:
  ///   - reader: One that may take its time.
  ///   - epoch: The one under which the store was taken.
  init(_ reader: DatabaseReader, takenUnder epoch: Int64) throws(StoreError) {
    let rows = try reader.run([
      PostgresCommand("SELECT serial, client, lane, ending FROM given"),
      PostgresCommand("SELECT counts FROM kept_counts WHERE epoch = $1", [.int64(epoch - 1)]),
      PostgresCommand("SELECT number FROM lane WHERE placed_through IS NOT NULL"),
      PostgresCommand("SELECT name, number FROM upstream"),
      PostgresCommand("SELECT EXISTS (SELECT 1 FROM body_pending)"),
      PostgresCommand(
        """
        SELECT last.number, last.bytes_through, first.bytes_through - octet_length(first.entries)
        FROM (SELECT * FROM event_log ORDER BY number DESC LIMIT 1) AS last,
          (SELECT * FROM event_log ORDER BY number LIMIT 1) AS first
        """),
      PostgresCommand("SELECT client FROM checks_in"),
      PostgresCommand("SELECT id FROM receipt_origin"),
      PostgresCommand("SELECT EXISTS (SELECT 1 FROM remembered_key)"),
      PostgresCommand("SELECT min(number), max(number) FROM receipt"),
    ])
    given.lastSerial = rows[0].int64(0, 0)
    given.lastClient = rows[0].int64(0, 1)
    given.lastLane = rows[0].int64(0, 2)
    given.lastEnding = rows[0].int64(0, 3)
    setApart = given
    let kept = rows[1].count == 1 ? KeptCounts(stored: rows[1].int64s(0, 0)) : nil
    if let kept { take(kept) } else { try count(by: reader) }
    for row in 0..<rows[2].count { parkedLanes.insert(LaneNumber(rawValue: rows[2].int64(row, 0))) }
    for row in 0..<rows[3].count {
      upstreams[rows[3].text(row, 0)] = UpstreamNumber(rawValue: rows[3].int32(row, 1))
    }
    hasPendingBodies = rows[4].bool(0, 0)
    if rows[5].count == 1 {
      eventLog.lastRow = rows[5].int64(0, 0)
      eventLog.bytesThrough = rows[5].int64(0, 1)
      eventLog.bytesForgotten = rows[5].int64(0, 2) - EventLog.rowOverheadBytes
    }
    for row in 0..<rows[6].count {
      checkingIn.insert(ClientNumber(rawValue: rows[6].int64(row, 0)))
    }
    receiptOrigin = rows[7].bytes(0, 0)
    remembersKeys = rows[8].bool(0, 0)
    if let first = rows[9].int64OrNil(0, 0), let last = rows[9].int64OrNil(0, 1) {
      figures.receipts = ReceiptTally(kept: first...last)
    }
    figures.given = given
  }

  private mutating func take(_ kept: KeptCounts) {
    figures.counts = kept.counts
    (given.names, given.latestTime) = (kept.names, kept.latestTime)
  }

  /// A relay of a version before has had the store, or a move, or nobody yet.
  private mutating func count(by reader: DatabaseReader) throws(StoreError) {
    let rows = try reader.run([
      PostgresCommand("SELECT (SELECT count(*) FROM client), (SELECT count(*) FROM lane)"),
      PostgresCommand(
        """
        SELECT standing, count(*), sum(bytes)::bigint, max(accepted_at) FROM line GROUP BY standing
        """),
      PostgresCommand(
        """
        SELECT state, count(*), sum(bytes)::bigint, max(accepted_at) FROM ended GROUP BY state
        """),
    ])
    given.names.clients = rows[0].int64(0, 0)
    given.names.lanes = rows[0].int64(0, 1)
    try count(waiting: rows[1], ended: rows[2])
  }

  private mutating func count(
    waiting: PostgresRows, ended: PostgresRows
  ) throws(StoreError) {
    for row in 0..<waiting.count {
      figures.counts.standing[try Standing(stored: waiting.int16(row, 0))] = waiting.int64(row, 1)
      note(waiting, row)
    }
    for row in 0..<ended.count {
      figures.counts.ended[try EnvelopeState(stored: ended.int16(row, 0))] = ended.int64(row, 1)
      note(ended, row)
    }
  }

  private mutating func note(_ rows: PostgresRows, _ row: Int) {
    figures.counts.contentBytes += rows.int64(row, 2)
    let latest = WallTime(millisecondsSinceEpoch: rows.int64(row, 3))
    given.latestTime = max(given.latestTime, latest)
  }
}
#endif

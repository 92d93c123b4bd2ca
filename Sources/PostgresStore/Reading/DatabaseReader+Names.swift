#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseReader {
  /// All upstreams that are known.
  func upstreamNames() throws(StoreError) -> [UpstreamNumber: String] {
    Self.upstreamNames(try run([.upstreamNames])[0])
  }

  /// Reads the answer to ``PostgresCommand/upstreamNames``.
  static func upstreamNames(_ rows: PostgresRows) -> [UpstreamNumber: String] {
    var names: [UpstreamNumber: String] = [:]
    for row in 0..<rows.count {
      names[UpstreamNumber(rawValue: rows.int32(row, 0))] = rows.text(row, 1)
    }
    return names
  }

  /// Everything that is paused.
  func pauses() throws(StoreError) -> Set<PauseTarget> {
    let rows = try run([PostgresCommand("SELECT kind, number FROM paused")])[0]
    var pauses: Set<PauseTarget> = []
    for row in 0..<rows.count {
      let number = rows.int64(row, 1)
      switch rows.int16(row, 0) {
      case 0: pauses.insert(.upstream(UpstreamNumber(rawValue: Int32(truncatingIfNeeded: number))))
      case 1: pauses.insert(.client(ClientNumber(rawValue: number)))
      case 2: pauses.insert(.lane(LaneNumber(rawValue: number)))
      default: throw .invalidRow("a pause of kind \(rows.int16(row, 0))")
      }
    }
    return pauses
  }

  /// The names of clients.
  func clientNames(_ numbers: [ClientNumber]) throws(StoreError) -> [ClientNumber: String] {
    let rows = try run([
      PostgresCommand(
        "SELECT number, name FROM client WHERE number = ANY($1)",
        [.int64s(numbers.map(\.rawValue))])
    ])[0]
    var names: [ClientNumber: String] = [:]
    for row in 0..<rows.count {
      names[ClientNumber(rawValue: rows.int64(row, 0))] = rows.text(row, 1)
    }
    return names
  }

  /// The names of lanes and of their clients.
  func laneNames(_ numbers: [LaneNumber]) throws(StoreError) -> [LaneNumber: LaneName] {
    let rows = try run([
      PostgresCommand(
        """
        SELECT lane.number, client.name, lane.name FROM lane
        JOIN client ON client.number = lane.client WHERE lane.number = ANY($1)
        """, [.int64s(numbers.map(\.rawValue))])
    ])[0]
    var names: [LaneNumber: LaneName] = [:]
    for row in 0..<rows.count {
      names[LaneNumber(rawValue: rows.int64(row, 0))] = LaneName(
        client: rows.text(row, 1), lane: rows.text(row, 2))
    }
    return names
  }

  /// The record of a client; nil if nothing of it was ever accepted.
  func client(_ name: String) throws(StoreError) -> ClientRecord? {
    let client = PostgresValue.text(name)
    let rows = try run([
      PostgresCommand("SELECT number FROM client WHERE name = $1", [client]),
      PostgresCommand(
        """
        SELECT lane.number, lane.name, last_sequence, placed_through,
          delivered, failed, expired, cancelled
        FROM client JOIN lane ON lane.client = client.number
        WHERE client.name = $1 ORDER BY lane.number
        """, [client]),
      // What is not yet added up in the lanes' rows.
      PostgresCommand(
        """
        SELECT lane.number, one.state, sum(one.change)::bigint
        FROM ended_log, unnest(lanes, states, changes) AS one(lane, state, change)
        JOIN lane ON lane.number = one.lane JOIN client ON client.number = lane.client
        WHERE client.name = $1 GROUP BY lane.number, one.state
        """, [client]),
      PostgresCommand(
        sql: """
          SELECT lane.number, open.first, open.last FROM client
          JOIN lane ON lane.client = client.number
          JOIN LATERAL (
            SELECT first, last FROM gap
            WHERE gap.lane = lane.number AND NOT is_skipped AND first > placed_through
            ORDER BY first LIMIT \(StoreLimits.missingRangesMax + 1)
          ) AS open ON true
          WHERE client.name = $1 ORDER BY lane.number, open.first
          """, [client]),
      PostgresCommand(
        sql: """
          SELECT lane.number, skipped.first, skipped.last FROM client
          JOIN lane ON lane.client = client.number
          JOIN LATERAL (
            SELECT first, last FROM gap WHERE gap.lane = lane.number AND is_skipped
            ORDER BY first DESC LIMIT \(StoreLimits.missingRangesMax)
          ) AS skipped ON true
          WHERE client.name = $1 ORDER BY lane.number, skipped.first
          """, [client]),
    ])
    guard rows[0].count == 1 else { return nil }
    return ClientRecord(
      number: ClientNumber(rawValue: rows[0].int64(0, 0)), lanes: try Self.lanes(rows))
  }

  private static func lanes(_ rows: [PostgresRows]) throws(StoreError) -> [LaneRecord] {
    let missing = MissingNumbers.byLane(rows[3])
    let skipped = MissingNumbers.byLane(rows[4])
    var counts: [PostgresRows.LaneState: Int64] = [:]
    for row in 0..<rows[2].count {
      let state = try EnvelopeState(stored: rows[2].int16(row, 1))
      let lane = LaneNumber(rawValue: rows[2].int64(row, 0))
      counts[PostgresRows.LaneState(lane: lane, state: state)] = rows[2].int64(row, 2)
    }
    return (0..<rows[1].count).map { row in
      let number = LaneNumber(rawValue: rows[1].int64(row, 0))
      var ended: [EnvelopeState: Int] = [:]
      for (place, state) in EnvelopeState.ends.enumerated() {
        let change = counts[PostgresRows.LaneState(lane: number, state: state)] ?? 0
        ended[state] = Int(rows[1].int64(row, 4 + place) + change)
      }
      var record = LaneRecord(
        number: number, name: rows[1].text(row, 1), lastSequence: rows[1].int64OrNil(row, 2),
        ended: ended)
      record.missing = missing[number] ?? .none
      record.skipped = skipped[number]?.ranges ?? []
      if let gap = record.missing.ranges.first {
        record.highestSequence = record.lastSequence
        record.lastSequence = gap.first - 1
      }
      return record
    }
  }
}

extension PostgresCommand {
  /// Asks for all upstreams that are known.
  static let upstreamNames = PostgresCommand("SELECT number, name FROM upstream")
}
#endif

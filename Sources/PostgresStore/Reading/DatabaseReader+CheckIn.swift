#if PostgreSQL
import Postgres
import RelayCore

/// The state of a client that checks in.
struct CheckInStanding: Sendable {
  let client: ClientNumber
  let shard: Int
  let isFilled: Bool
  /// The last number that an ending of this client has been given.
  let lastEnding: EndingNumber
  /// Whether there is anything up to the client's number that can be forgotten.
  let hasSeen: Bool
}

extension DatabaseReader {
  /// A client's state; nil if nothing from it was ever accepted.
  func checkInStanding(
    of name: String, seenThrough number: EndingNumber
  ) throws(StoreError) -> CheckInStanding? {
    let rows = try run([
      PostgresCommand(
        """
        SELECT client.number, shard, coalesce(is_filled, false), coalesce(last, 0),
          EXISTS (
            SELECT 1 FROM ending WHERE ending.client = client.number AND ending.number <= $2)
        FROM client LEFT JOIN checks_in ON checks_in.client = client.number
        WHERE client.name = $1
        """, [.text(name.storable), .int64(number)])
    ])[0]
    guard rows.count == 1 else { return nil }
    return CheckInStanding(
      client: ClientNumber(rawValue: rows.int64(0, 0)), shard: Int(rows.int32(0, 1)),
      isFilled: rows.bool(0, 2), lastEnding: rows.int64(0, 3), hasSeen: rows.bool(0, 4))
  }

  /// The envelopes of a client among those that ended last and were not told to anybody.
  func recentlyEnded(of client: ClientNumber) throws(StoreError) -> [Serial] {
    let rows = try run([
      PostgresCommand(
        """
        SELECT serial FROM (
          SELECT serial, client, ending FROM ended ORDER BY serial DESC LIMIT $2
        ) AS late WHERE ending IS NULL AND client = $1 ORDER BY serial
        """, [.int64(client.rawValue), .int64(ReadingLimits.firstCheckInLooksMax)])
    ])[0]
    return (0..<rows.count).map { rows.int64($0, 0) }
  }

  /// The endings behind a number that a client has not been told yet.
  func endings(
    of client: ClientNumber, after number: EndingNumber, countMax: Int
  ) throws(StoreError) -> CheckInPage {
    let rows = try run([
      PostgresCommand(
        """
        SELECT ending.number, envelope.id, envelope.serial, lane.name, envelope.key,
          envelope.sequence, ended.state, ended.ended_at, ended.attempts, ended.reason,
          response.status
        FROM ending JOIN envelope ON envelope.serial = ending.serial
        JOIN lane ON lane.number = envelope.lane JOIN ended ON ended.serial = ending.serial
        LEFT JOIN response ON response.serial = ending.serial
        WHERE ending.client = $1 AND ending.number > $2 ORDER BY ending.number LIMIT $3
        """, [.int64(client.rawValue), .int64(number), .int64(Int64(countMax) + 1)])
    ])[0]
    var endings: [ClientEnding] = []
    for row in 0..<min(rows.count, countMax) { endings.append(try ClientEnding(rows, row)) }
    return CheckInPage(
      endings: endings, toldThrough: endings.last?.number ?? number,
      hasMore: rows.count > countMax)
  }
}

extension ClientEnding {
  fileprivate init(_ rows: PostgresRows, _ row: Int) throws(StoreError) {
    self.init(
      number: rows.int64(row, 0),
      fate: EnvelopeFate(
        id: try EnvelopeID(stored: rows.uuid(row, 1)), serial: rows.int64(row, 2),
        state: try EnvelopeState(stored: rows.int16(row, 6)), reason: rows.textOrNil(row, 9),
        endedAt: WallTime(millisecondsSinceEpoch: rows.int64(row, 7)),
        attemptCount: Int32(truncatingIfNeeded: rows.int64(row, 8)),
        responseStatus: rows.int32OrNil(row, 10).map { Int($0) }),
      lane: rows.text(row, 3), key: rows.textOrNil(row, 4), sequence: rows.int64OrNil(row, 5))
  }
}
#endif

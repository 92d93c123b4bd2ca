#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseReader {
  /// Envelopes by the numbers that they were posted under, and their ids: `$1` and `$2`.
  static let askedByID = """
    FROM unnest($1, $2) WITH ORDINALITY AS asked(posted, id, place)
    LEFT JOIN moved ON moved.old = asked.posted
    JOIN envelope
      ON envelope.serial = coalesce(moved.new, asked.posted) AND envelope.id = asked.id
    """

  private static let fateColumns = """
    place, envelope.id, envelope.serial, standing, state, coalesce(line.reason, ended.reason),
    ended_at, coalesce(line.attempts, ended.attempts), response.status
    """
  private static let fateJoins = """
    LEFT JOIN line ON line.serial = envelope.serial
    LEFT JOIN ended ON ended.serial = envelope.serial
    LEFT JOIN response ON response.serial = envelope.serial
    """

  /// The states of some envelopes, by their ids and their keys; see ``EnvelopeStore``.
  ///
  /// - Parameter serial: The number that an envelope of an id was posted under.
  func fates(
    of references: [EnvelopeReference], serial: (EnvelopeID) -> Serial
  ) throws(StoreError) -> [EnvelopeFate?] {
    var ids: [(place: Int, id: EnvelopeID)] = []
    var keys: [(place: Int, client: String, key: String)] = []
    for (place, reference) in references.enumerated() {
      switch reference {
      case .id(let id): ids.append((place, id))
      case .key(let key, let client):
        guard key.isStorable, client.isStorable else { continue }
        keys.append((place, client, key))
      }
    }
    var fates = [EnvelopeFate?](repeating: nil, count: references.count)
    let answers = try run([
      PostgresCommand(
        sql: "SELECT \(Self.fateColumns) \(Self.askedByID) \(Self.fateJoins)",
        [.int64s(ids.map { serial($0.id) }), .uuids(ids.map(\.id.bytes))]),
      PostgresCommand(
        sql: """
          SELECT \(Self.fateColumns)
          FROM unnest($1, $2) WITH ORDINALITY AS asked(client, key, place)
          JOIN client ON client.name = asked.client
          JOIN key_index ON key_index.client = client.number AND key_index.key = asked.key
          JOIN envelope ON envelope.serial = key_index.serial \(Self.fateJoins)
          """, [.texts(keys.map(\.client)), .texts(keys.map(\.key))]),
    ])
    for (rows, places) in zip(answers, [ids.map(\.place), keys.map(\.place)]) {
      for row in 0..<rows.count {
        fates[places[Int(rows.int64(row, 0)) - 1]] = try Self.fate(rows, row)
      }
    }
    return fates
  }

  private static func fate(_ rows: PostgresRows, _ row: Int) throws(StoreError) -> EnvelopeFate {
    EnvelopeFate(
      id: try EnvelopeID(stored: rows.uuid(row, 1)), serial: rows.int64(row, 2),
      state: try EnvelopeState(rows, row, standing: 3, end: 4), reason: rows.textOrNil(row, 5),
      endedAt: WallTime(stored: rows.int64OrNil(row, 6)),
      attemptCount: Int32(truncatingIfNeeded: rows.int64(row, 7)),
      responseStatus: rows.int32OrNil(row, 8).map { Int($0) })
  }

  /// The answers to keys, as seen from an envelope that refers to them.
  func answers(
    to keys: Set<String>, for serial: Serial
  ) throws(StoreError) -> [String: ReferencedAnswer] {
    let rows = try run([
      PostgresCommand(
        """
        SELECT asked.key, envelope.lane = own.lane, envelope.serial < own.serial, standing, state,
          response.status, is_truncated, response.headers, response.body
        FROM envelope AS own
        JOIN unnest($2) AS asked(key) ON true
        JOIN key_index ON key_index.client = own.client AND key_index.key = asked.key
        JOIN envelope ON envelope.serial = key_index.serial
        LEFT JOIN line ON line.serial = envelope.serial
        LEFT JOIN ended ON ended.serial = envelope.serial
        LEFT JOIN response ON response.serial = envelope.serial
          AND envelope.lane = own.lane AND envelope.serial < own.serial AND state = 1
        WHERE own.serial = $1
        """, [.int64(serial), .texts(keys.filter(\.isStorable))])
    ])[0]
    var answers: [String: ReferencedAnswer] = [:]
    for key in keys { answers[key] = .unknown }
    for row in 0..<rows.count { answers[rows.text(row, 0)] = try Self.answer(rows, row) }
    return answers
  }

  private static func answer(
    _ rows: PostgresRows, _ row: Int
  ) throws(StoreError) -> ReferencedAnswer {
    guard rows.bool(row, 1) else { return .elsewhere }
    guard rows.bool(row, 2) else { return .notEarlier }
    let state = try EnvelopeState(rows, row, standing: 3, end: 4)
    guard state == .delivered else { return .undelivered(state) }
    guard let status = rows.int32OrNil(row, 5) else { return .delivered(nil) }
    guard let headers = HeaderBlock(stored: rows.bytes(row, 7)) else {
      throw .invalidRow("a header block")
    }
    return .delivered(
      UpstreamResponse(
        status: Int(status), headers: headers, body: rows.bytes(row, 8),
        isTruncated: rows.bool(row, 6)))
  }
}

extension String {
  /// Whether PostgreSQL can keep it; what it cannot keep, nothing there is called.
  fileprivate var isStorable: Bool { !utf8.contains(0) }
}
#endif

#if PostgreSQL
import Postgres
import RelayCore

extension DatabaseReader {
  /// A page of the clients, by name; see ``NameStore``.
  func clients(
    prefix: String, after name: String, countMax: Int
  ) throws(StoreError) -> ClientPage {
    // Names are visible ASCII: all names with a prefix come before the prefix with DEL.
    let page = """
      SELECT number, name FROM client
      WHERE name > $1 AND name >= $2 AND name < $3 ORDER BY name LIMIT $4
      """
    let values: [PostgresValue] = [
      .text(name), .text(prefix), .text(prefix + "\u{7F}"), .int64(Int64(countMax) + 1),
    ]
    let rows = try run([
      PostgresCommand(sql: page, values),
      PostgresCommand(
        sql: """
          SELECT page.number, lane.number FROM (\(page)) AS page JOIN LATERAL (
            SELECT number FROM lane WHERE lane.client = page.number
            ORDER BY number LIMIT \(StoreLimits.lanesShownMax)
          ) AS lane ON true ORDER BY page.name, lane.number
          LIMIT \(StoreLimits.lanesListedMax + StoreLimits.lanesShownMax)
          """, values),
    ])
    var lanes: [ClientNumber: [LaneNumber]] = [:]
    for row in 0..<rows[1].count {
      lanes[ClientNumber(rawValue: rows[1].int64(row, 0)), default: []].append(
        LaneNumber(rawValue: rows[1].int64(row, 1)))
    }
    var clients: [ListedClient] = []
    var laneCount = 0
    for row in 0..<min(rows[0].count, countMax)
    where laneCount < StoreLimits.lanesListedMax {
      let number = ClientNumber(rawValue: rows[0].int64(row, 0))
      let own = lanes[number] ?? []
      clients.append(ListedClient(number: number, name: rows[0].text(row, 1), lanes: own))
      laneCount += own.count
    }
    return ClientPage(clients: clients, hasMore: clients.count < rows[0].count)
  }

  /// A page of the lanes, by number; see ``NameStore``.
  func lanes(
    of client: String?, after number: LaneNumber?, countMax: Int
  ) throws(StoreError) -> LaneNamePage {
    var values: [PostgresValue] = [
      .int64(number?.rawValue ?? 0), .int64(Int64(countMax) + 1),
    ]
    var ofClient = ""
    if let client {
      values.append(.text(client))
      ofClient = "AND client = (SELECT number FROM client WHERE name = $3)"
    }
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT lane.number, client.name, lane.name FROM (
            SELECT * FROM lane WHERE number > $1 \(ofClient) ORDER BY number LIMIT $2
          ) AS lane JOIN client ON client.number = lane.client ORDER BY lane.number
          """, values)
    ])[0]
    let lanes = (0..<min(rows.count, countMax)).map { row in
      (
        number: LaneNumber(rawValue: rows.int64(row, 0)),
        name: LaneName(client: rows.text(row, 1), lane: rows.text(row, 2))
      )
    }
    return LaneNamePage(lanes: lanes, hasMore: rows.count > countMax)
  }
}
#endif

import RelayCore

// An envelope's client and lane are in three places: its own row, its row in the line, and the row
// of the lane. The one of the three that contradicts the others is damaged.
extension Salvage {
  /// Corrects the rows that contradict the others, so that no envelope becomes another client's.
  func mendOwners() throws(StoreError) {
    let both = "line AS s JOIN envelope AS e USING (serial)"
    try mend(
      "line", "SELECT client, lane FROM envelope AS e WHERE e.serial = line.serial",
      """
      SELECT s.serial FROM \(both) JOIN lane AS l ON l.number = e.lane \
      WHERE l.client = e.client AND (s.client <> e.client OR s.lane <> e.lane)
      """)
    try mend(
      "envelope", "SELECT client, lane FROM line AS s WHERE s.serial = envelope.serial",
      """
      SELECT s.serial FROM \(both) JOIN lane AS l ON l.number = s.lane \
      WHERE l.client = s.client AND (s.client <> e.client OR s.lane <> e.lane)
      """)
    // All envelopes in a lane belong to one client: if the lane's row says otherwise, it is wrong.
    let ofLanes = """
      SELECT lane, min(client) AS client FROM envelope GROUP BY lane \
      HAVING min(client) = max(client)
      """
    let wrong = try numbers(
      """
      SELECT l.number FROM lane AS l JOIN (\(ofLanes)) AS n ON n.lane = l.number \
      WHERE n.client <> l.client AND (SELECT count(*) FROM envelope WHERE lane = l.number) > 1
      """)
    for number in wrong {
      try connection.execute(
        """
        UPDATE OR IGNORE lane SET client = (SELECT client FROM envelope \
        WHERE lane = \(number) LIMIT 1) WHERE number = \(number)
        """)
      try noteOwner("lane", number)
    }
    for table in ["envelope", "line"] {
      try mend(
        table, "SELECT client, number FROM lane AS l WHERE l.number = \(table).lane",
        """
        SELECT t.serial FROM \(table) AS t JOIN lane AS l ON l.number = t.lane \
        WHERE l.client <> t.client
        """)
    }
  }

  /// Makes rows of a table take their client and lane from where these are right.
  private func mend(
    _ table: String, _ source: String, _ wrong: String
  ) throws(StoreError) {
    for serial in try numbers(wrong) {
      try connection.execute(
        "UPDATE \(table) SET (client, lane) = (\(source)) WHERE serial = \(serial)")
      try noteOwner(table, serial)
    }
  }

  private func noteOwner(_ table: String, _ row: Int64) throws(StoreError) {
    try add(
      SalvageFinding(
        kind: .row, table: table, row: row,
        reason: "its client or its lane contradicted other rows; it has what they say"))
  }
}

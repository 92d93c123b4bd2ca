import Glibc
import RelayCore
import SQLite

// Rows that were carried over one by one need not fit together: a lost page takes rows of one table
// with it, and leaves rows of others that belong to them. Here this is repaired, so that the relay
// finds what it relies on, and each lost envelope is reported.
extension Salvage {
  /// Repairs the new database, puts the bodies beside it, and gives it its name.
  func finish(part: String, database: String) throws(StoreError) -> SalvageReport {
    try connection.execute("BEGIN")
    try mendOwners()
    try nameTheNameless()
    // Lanes that had lost their names have clients again.
    try mendOwners()
    try carryOverBodies()
    try dropWithoutContent()
    try connection.execute("COMMIT")
    // An older store is migrated once it has what each step relies on.
    try DatabaseFile.prepare(
      path: part, pageBytes: StoreTuning.pageBytes, isToBeLogged: false)
    try connection.execute("BEGIN")
    try placeTheStateless()
    try dropOrphans()
    try mendUpstreams()
    try mendNumbers()
    try mendEvents()
    try mendReceipts()
    try mendCounts()
    // The rows carried over need not be all that the blocks name: searches scan them.
    try connection.execute("DELETE FROM search_block")
    try tellChanged()
    try connection.execute("COMMIT")
    count(
      envelopes: Int(try connection.number("SELECT count(*) FROM envelope")),
      waiting: Int(try connection.number("SELECT count(*) FROM line")),
      bodies: Int(try connection.number("SELECT count(*) FROM body_file")),
      tokens: try carriedTokens())
    if report.tokens.unreadable != 0 { try StoreMarker.writeLackOfTokens(in: newFolder) }
    try settle(part: part, database: database)
    return report
  }

  /// Makes everything durable, and then gives the database the name by which a relay finds it.
  func settle(part: String, database: String) throws(StoreError) {
    try connection.settle(part: part)
    try DatabaseFile.name(database, part: part, in: newFolder)
  }

  /// Reports envelopes that are not as accepted.
  ///
  /// They are kept as they are, with their checksums: the relay quarantines them when it is their
  /// turn.
  private func tellChanged() throws(StoreError) {
    var changed: [ContentSums.Changed] = []
    try ContentSums.forEachChanged(on: connection) { row in changed.append(row) }
    for row in changed {
      try add(
        SalvageFinding(
          kind: .row, table: "envelope", row: row.serial, id: row.id, client: row.client,
          lane: row.lane, acceptedAt: row.id?.acceptedAt,
          reason: "bytes of it have changed since it was accepted; it is kept, and not sent"))
    }
    var serials: [Serial] = []
    try ContentSums.forEachChangedFile(on: connection, in: newFolder) { serial, _ in
      serials.append(serial)
    }
    for serial in serials {
      try add(
        SalvageFinding(
          kind: .row, table: "body_file", row: serial,
          reason: "bytes of its body have changed since it was accepted; it is kept, and not sent"))
    }
  }

  // MARK: - Names

  /// Gives new names to clients, lanes and upstreams whose names are lost.
  ///
  /// Rows refer to them by number, so what belongs to one of them stays together.
  private func nameTheNameless() throws(StoreError) {
    let ofClients =
      "SELECT client AS n FROM envelope UNION SELECT client FROM line UNION SELECT client FROM lane"
    let ofUpstreams = "SELECT upstream AS n FROM envelope UNION SELECT upstream FROM line"
    for (table, source) in [("client", ofClients), ("upstream", ofUpstreams)] {
      let missing = try numbers(
        "SELECT n FROM (\(source)) WHERE n NOT IN (SELECT number FROM \(table))")
      for number in missing {
        try connection.execute(
          "INSERT INTO \(table) (number, name) VALUES (\(number), 'salvaged-\(table)-\(number)')")
        try noteName(table, number)
      }
    }
    for number in try numbers(
      """
      SELECT n FROM (SELECT lane AS n FROM envelope UNION SELECT lane FROM line) \
      WHERE n NOT IN (SELECT number FROM lane)
      """)
    {
      try connection.execute(
        """
        INSERT INTO lane (number, client, name) SELECT \(number), client, \
        'salvaged-lane-\(number)' FROM (SELECT client FROM line WHERE lane = \(number) \
        UNION ALL SELECT client FROM envelope WHERE lane = \(number)) LIMIT 1
        """)
      try noteName("lane", number)
    }
  }

  private func noteName(_ table: String, _ number: Int64) throws(StoreError) {
    try add(
      SalvageFinding(
        kind: .name, table: table, row: number,
        reason: "its name is lost; it is called salvaged-\(table)-\(number)"))
  }

  // MARK: - Rows that miss their other half

  /// Reports and deletes waiting and ended envelopes whose content is lost.
  private func dropWithoutContent() throws(StoreError) {
    let line = try Statement(
      """
      SELECT s.serial, c.name, l.name, s.accepted_at FROM line AS s \
      LEFT JOIN client AS c ON c.number = s.client LEFT JOIN lane AS l ON l.number = s.lane \
      WHERE s.serial NOT IN (SELECT serial FROM envelope)
      """, on: connection)
    while try line.step() {
      try add(
        SalvageFinding(
          kind: .envelope, table: "line", row: line.int(0), client: line.text(1),
          lane: line.text(2), acceptedAt: line.time(3),
          reason: "it waited, and its content is lost"))
    }
    let ended = try Statement(
      """
      SELECT serial, state FROM ended WHERE serial NOT IN (SELECT serial FROM envelope) \
      AND serial NOT IN (SELECT serial FROM line)
      """, on: connection)
    while try ended.step() {
      let state = try ended.end(1)
      try add(
        SalvageFinding(
          kind: .envelope, table: "ended", row: ended.int(0),
          reason: "it was \(state.rawValue), and what it was is lost"))
    }
    try connection.execute(
      """
      DELETE FROM line WHERE serial NOT IN (SELECT serial FROM envelope);
      DELETE FROM ended WHERE serial NOT IN (SELECT serial FROM envelope);
      DELETE FROM line WHERE serial IN (SELECT serial FROM ended);
      """)
  }

  /// Deletes the rows of envelopes that are lost.
  private func dropOrphans() throws(StoreError) {
    for kind in PauseTarget.Kind.allCases {
      try connection.execute(
        """
        DELETE FROM paused \
        WHERE kind = \(kind.code) AND number NOT IN (SELECT number FROM \(kind.table))
        """)
    }
    for table in [
      "response", "attempt", "coalesced_key", "coalesce_index", "key_index", "body_file", "ending",
    ] {
      try connection.execute(
        "DELETE FROM \(table) WHERE serial NOT IN (SELECT serial FROM envelope)")
    }
    try connection.execute(
      """
      DELETE FROM quarantine WHERE serial NOT IN (SELECT serial FROM line);
      DELETE FROM moved WHERE place NOT IN (SELECT serial FROM envelope);
      DELETE FROM ending WHERE serial NOT IN (SELECT serial FROM ended);
      DELETE FROM checks_in WHERE client NOT IN (SELECT number FROM client);
      DELETE FROM paused WHERE kind NOT IN \(PauseTarget.Kind.codeList);
      DELETE FROM gap WHERE lane NOT IN (SELECT number FROM lane) OR first > last;
      DELETE FROM parked_lane WHERE lane NOT IN (SELECT number FROM lane);
      -- Keys can be told from the envelopes themselves.
      INSERT OR IGNORE INTO key_index (client, key, serial) \
      SELECT client, key, serial FROM envelope WHERE key IS NOT NULL;
      INSERT OR IGNORE INTO key_index (client, key, serial) \
      SELECT e.client, k.key, k.serial FROM coalesced_key AS k JOIN envelope AS e USING (serial);
      INSERT OR IGNORE INTO coalesce_index (lane, key, serial) SELECT lane, coalesce_key, \
      max(serial) FROM envelope WHERE coalesce_key IS NOT NULL GROUP BY lane, coalesce_key;
      """)
  }

  func numbers(_ sql: String) throws(StoreError) -> [Int64] {
    try Statement(sql, on: connection).rows { $0.int(0) }
  }
}

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

  /// Corrects the upstream of what waits where two rows name different ones: the checksum says
  /// which is right.
  func mendUpstreams() throws(StoreError) {
    var doubted: [(serial: Serial, isOwnRight: Bool)] = []
    try ContentSums.forEachDoubtedUpstream(on: connection) { doubted.append(($0, $1)) }
    for (serial, isOwnRight) in doubted {
      let (wrong, right) = isOwnRight ? ("line", "envelope") : ("envelope", "line")
      try connection.execute(
        """
        UPDATE \(wrong) SET upstream = (SELECT r.upstream FROM \(right) AS r \
        WHERE r.serial = \(serial)) WHERE serial = \(serial)
        """)
      try add(
        SalvageFinding(
          kind: .row, table: wrong, row: serial,
          reason: "its upstream was another than in its other row; it has that one's"))
    }
  }

  private func noteOwner(_ table: String, _ row: Int64) throws(StoreError) {
    try add(
      SalvageFinding(
        kind: .row, table: table, row: row,
        reason: "its client or its lane contradicted other rows; it has what they say"))
  }
}

import CSQLite
import Glibc
import RelayCore

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
    try mendNumbers()
    try mendEvents()
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
    try connection.execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL")
    guard try connection.text("PRAGMA journal_mode = WAL") == "wal" else {
      throw StoreError(
        kind: .other, operation: "open", subject: part,
        detail: "the file system has no shared memory for a write-ahead log. Choose a local disk.")
    }
    connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
    try connection.execute("PRAGMA journal_mode = DELETE")
    try DataFolder.sync(file: part)
    guard rename(part, database) == 0 else {
      throw StoreError(errno: errno, operation: "rename", subject: part)
    }
    try DataFolder.sync(folder: newFolder + "/bodies")
    try DataFolder.sync(folder: newFolder)
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
          lane: line.text(2), acceptedAt: WallTime(millisecondsSinceEpoch: line.int(3)),
          reason: "it waited, and its content is lost"))
    }
    let ended = try Statement(
      """
      SELECT serial, state FROM ended WHERE serial NOT IN (SELECT serial FROM envelope) \
      AND serial NOT IN (SELECT serial FROM line)
      """, on: connection)
    while try ended.step() {
      let state = try EnvelopeState(endCode: ended.int(1))
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
      DELETE FROM paused WHERE kind = 0 AND number NOT IN (SELECT number FROM upstream);
      DELETE FROM paused WHERE kind = 1 AND number NOT IN (SELECT number FROM client);
      DELETE FROM paused WHERE kind = 2 AND number NOT IN (SELECT number FROM lane);
      DELETE FROM paused WHERE kind NOT IN (0, 1, 2);
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
    let row = try Statement(sql, on: connection)
    var numbers: [Int64] = []
    while try row.step() { numbers.append(row.int(0)) }
    return numbers
  }
}

#if PostgreSQL
import Postgres
import RelayCore

// Keys that are remembered longer than their envelopes.
extension DatabaseWriter {
  /// Forgets keys of envelopes that ended before a time, those that ended first.
  ///
  /// - Returns: How many.
  func forgetKeys(before time: WallTime, countMax: Int) throws(StoreError) -> Int {
    guard remembersKeys else { return 0 }
    let ended = PostgresValue.int64(time.millisecondsSinceEpoch)
    let answers = try read([
      PostgresCommand(
        "SELECT digest FROM remembered_key WHERE ended_at < $1 ORDER BY ended_at LIMIT $2",
        [ended, .int64(Int64(countMax))]),
      PostgresCommand(
        "SELECT EXISTS (SELECT 1 FROM remembered_key WHERE ended_at >= $1)", [ended]),
    ])
    let due = (0..<answers[0].count).map { answers[0].bytes($0, 0) }
    if !due.isEmpty {
      try write(
        [
          PostgresCommand(
            "DELETE FROM remembered_key WHERE digest = ANY($1)", [.byteStrings(due)])
        ], shards: [])
    }
    remembersKeys = due.count == countMax || answers[1].bool(0, 0)
    return due.count
  }
}

extension PostgresCommand {
  /// Remembers the keys of envelopes that are about to be deleted.
  static func rememberKeys(of serials: [Serial]) -> PostgresCommand {
    PostgresCommand(
      sql: """
        INSERT INTO remembered_key (digest, ended_at, fingerprint)
        SELECT \(keyDigest(of: "said.key", client: "client.name")), ended.ended_at,
          substr(coalesce(key_index.fingerprint, envelope.fingerprint), 1,
            \(RememberedKey.digestBytes))
        FROM (
          SELECT serial, client, key FROM envelope WHERE serial = ANY($1) AND key IS NOT NULL
          UNION ALL SELECT serial, client, key FROM former_key WHERE serial = ANY($1)
        ) AS said
        JOIN client ON client.number = said.client
        JOIN key_index ON key_index.client = said.client AND key_index.key = said.key
          AND key_index.serial = said.serial
        JOIN envelope ON envelope.serial = said.serial
        JOIN ended ON ended.serial = said.serial
        ON CONFLICT (digest) DO UPDATE
        SET ended_at = excluded.ended_at, fingerprint = excluded.fingerprint
        """, [.int64s(serials)])
  }

  /// Asks what was posted under keys whose envelopes are forgotten.
  ///
  /// Columns: the client's name, the key, the digest of what was posted.
  static func rememberedKeys(_ keys: [AppendQuestions.Key]) -> PostgresCommand {
    PostgresCommand(
      sql: """
        SELECT asked.client, asked.key, remembered.fingerprint
        FROM unnest($1, $2) AS asked(client, key)
        CROSS JOIN LATERAL (
          SELECT fingerprint FROM remembered_key
          WHERE digest = \(keyDigest(of: "asked.key", client: "asked.client")) LIMIT 1
        ) AS remembered
        """, [.texts(keys.map(\.client)), .texts(keys.map(\.key))])
  }

  /// The digest of a key, as ``RememberedKey`` has it.
  private static func keyDigest(of key: String, client: String) -> String {
    """
    substr(sha256(convert_to(\(client), 'UTF8') || decode('00', 'hex')
      || convert_to(\(key), 'UTF8')), 1, \(RememberedKey.digestBytes))
    """
  }
}
#endif

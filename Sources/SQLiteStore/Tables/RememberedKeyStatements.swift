import Cryptography
import RelayCore
import SQLite

/// The writer's statements on keys that outlive their envelopes, prepared once.
final class RememberedKeyStatements {
  /// A key of an envelope that is about to be deleted.
  struct Key {
    let client: String
    let key: String
    /// Of what was posted under it.
    let fingerprint: [UInt8]
  }

  private let findKey: Statement
  private let keysOfEnvelope: Statement
  private let insertKey: Statement
  private let forgetOldest: Statement
  private let findAny: Statement

  fileprivate static let findSQL = "SELECT fingerprint FROM remembered_key WHERE digest = ?"

  init(on connection: borrowing Connection) throws(StoreError) {
    findKey = try Statement(Self.findSQL, on: connection)
    keysOfEnvelope = try Statement(
      """
      SELECT c.name, k.key, coalesce(k.fingerprint, e.fingerprint) FROM envelope AS e \
      JOIN client AS c ON c.number = e.client \
      JOIN key_index AS k ON k.client = e.client AND k.key = e.key AND k.serial = e.serial \
      WHERE e.serial = ?1 \
      UNION ALL \
      SELECT c.name, k.key, coalesce(k.fingerprint, e.fingerprint) FROM coalesced_key AS f \
      JOIN envelope AS e ON e.serial = f.serial JOIN client AS c ON c.number = e.client \
      JOIN key_index AS k ON k.client = e.client AND k.key = f.key AND k.serial = e.serial \
      WHERE f.serial = ?1
      """, on: connection)
    insertKey = try Statement(
      "INSERT OR REPLACE INTO remembered_key (digest, ended_at, fingerprint) VALUES (?, ?, ?)",
      on: connection)
    forgetOldest = try Statement(
      """
      DELETE FROM remembered_key WHERE digest IN (SELECT digest FROM remembered_key \
      WHERE ended_at < ? ORDER BY ended_at LIMIT ?)
      """, on: connection)
    findAny = try Statement("SELECT 1 FROM remembered_key LIMIT 1", on: connection)
  }

  /// What was posted under a key, as ``RememberedKey`` has it; nil if it is not remembered.
  func digest(ofKey key: String, of client: String) throws(StoreError) -> [UInt8]? {
    try findKey.first(Self.digest(of: key, of: client)) { $0.bytes(0) }
  }

  /// The keys that stand for an envelope: its own, and those of its former contents.
  func keys(of serial: Serial) throws(StoreError) -> [Key] {
    try keysOfEnvelope.rows(serial) { row in
      Key(client: row.text(0) ?? "", key: row.text(1) ?? "", fingerprint: row.bytes(2))
    }
  }

  /// Remembers a key.
  func insert(_ key: Key, endedAt: WallTime) throws(StoreError) {
    try insertKey.run(
      Self.digest(of: key.key, of: key.client), endedAt, RememberedKey.digest(of: key.fingerprint))
  }

  /// Forgets keys of envelopes that ended before a time, those that ended first.
  ///
  /// - Returns: How many.
  func forget(before time: WallTime, countMax: Int) throws(StoreError) -> Int {
    try forgetOldest.run(time, countMax)
    return Int(forgetOldest.changeCount)
  }

  /// Whether any key is remembered.
  func hasAny() throws(StoreError) -> Bool { try findAny.first { _ in true } ?? false }

  fileprivate static func digest(of key: String, of client: String) -> [UInt8] {
    let whole = SHA256.digest(of: RememberedKey.subject(key, of: client))
    return Array(whole.prefix(RememberedKey.digestBytes))
  }
}

/// A reader's statement on keys that outlive their envelopes, prepared once.
final class RememberedKeyQueries {
  private let findKey: Statement

  init(on connection: borrowing Connection) throws(StoreError) {
    findKey = try Statement(RememberedKeyStatements.findSQL, on: connection)
  }

  /// Whether a client's key is remembered.
  func has(_ key: String, of client: String) throws(StoreError) -> Bool {
    let digest = RememberedKeyStatements.digest(of: key, of: client)
    return try findKey.first(digest) { _ in true } ?? false
  }
}

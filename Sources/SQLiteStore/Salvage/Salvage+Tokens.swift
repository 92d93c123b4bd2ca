import EventLoop
import RelayCore
import SQLite
import SQLitePages

// Tokens: without them a relay may be open to people who should have no access.
extension Salvage {
  /// Makes a new database with the tokens of a damaged store, as far as they can be read, and
  /// nothing else.
  ///
  /// - Parameters:
  ///   - aside: The damaged store's folder, which is only read.
  ///   - folder: The new store's folder, owned by the caller.
  ///   - part: The path at which the database is made, before it gets its name.
  static func beginWithTokens(
    of aside: String, in folder: String, part: String, database: String, pageBytes: Int
  ) throws(StoreError) -> CarriedTokens {
    try DatabaseFile.prepare(path: part, pageBytes: pageBytes, isToBeLogged: false)
    let salvage = try Salvage(
      oldFolder: aside, newFolder: folder, part: part, note: { _ throws(StoreError) in })
    var tokens = CarriedTokens()
    if DataFolder.size(ofFile: DataFolder.database(in: aside)) > 0 {
      let image = try DatabaseImage(ofStoreIn: aside)
      // Before that version stores had no tokens.
      if image.schemaVersion ?? Migration.latest >= Migration.migration0009.version {
        try salvage.carryOver(image, only: "token")
      }
      tokens = try salvage.carriedTokens()
    } else {
      tokens.unreadable = nil
    }
    try salvage.settle(part: part, database: database)
    return tokens
  }

  /// The tokens in the new database, and how much is known to be lost.
  func carriedTokens() throws(StoreError) -> CarriedTokens {
    var tokens = CarriedTokens()
    let revoked = TokenRecord.Grant.Kind.revoked.code
    let count = "SELECT count(*) FROM token WHERE kind"
    tokens.revocations = Int(try connection.number("\(count) = \(revoked)"))
    tokens.tokens = Int(try connection.number("\(count) <> \(revoked)"))
    tokens.unreadable = (lost["token"] ?? 0) + (hasStrays ? 1 : 0)
    return tokens
  }

  /// Carries over a token whose row is lost, from the index of clients' tokens.
  ///
  /// For a revoked token of a key, the index has all there is to know. For a stored token the
  /// digest is lost.
  func carryOver(token record: StoredRecord, page: Int) throws(StoreError) {
    guard record.values.count == 2, let client = record.values[0].text,
      let id = record.values[1].text
    else { return }
    let known = try Statement("SELECT 1 FROM token WHERE id = ?", on: connection)
    guard try !known.hasRow(id) else { return }
    guard RowRules.isOfKey(id, madeFor: client) else {
      return try loseToken(id, of: client, page: page)
    }
    let row = try Statement(
      """
      INSERT INTO token (id, kind, client, digest, created_at) VALUES (?, ?, ?, x'', ?)
      """, on: connection)
    try row.run(id, TokenRecord.Grant.Kind.revoked.code, client, WallClock.now())
  }
}

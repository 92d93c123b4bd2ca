import RelayCore
import SQLite

/// The statements about what the device signs, prepared once.
final class SigningStatements {
  let readSignature: Statement
  let insertSignature: Statement
  let signSignature: Statement
  let deleteSignature: Statement
  let newestSignature: Statement
  let signedItems: Statement
  let sealedAbove: Statement
  let signedLanes: Statement
  let writeSignedLane: Statement
  let insertSignedVoid: Statement
  let untoldVoids: Statement
  let tellVoids: Statement
  let retellVoids: Statement
  let forgetVoids: Statement
  let anySignedVoid: Statement
  let signedVoids: Statement

  init(_ connection: borrowing Connection) throws(StoreError) {
    let columns = "item, lane, sequence, digest, payload, hash, anew, jws"
    readSignature = try Statement(
      "SELECT \(columns) FROM item_signature WHERE item = ?1", on: connection)
    insertSignature = try Statement(
      """
      INSERT OR REPLACE INTO item_signature (\(columns))
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
      """, on: connection)
    signSignature = try Statement(
      "UPDATE item_signature SET jws = ?2 WHERE item = ?1", on: connection)
    deleteSignature = try Statement(
      "DELETE FROM item_signature WHERE item = ?1", on: connection)
    newestSignature = try Statement(
      """
      SELECT sequence, hash, item FROM item_signature WHERE lane = ?1 ORDER BY sequence DESC LIMIT 1
      """, on: connection)
    signedItems = try Statement("SELECT item FROM item_signature ORDER BY item", on: connection)
    sealedAbove = try Statement(
      """
      SELECT 1 FROM item WHERE lane = ?1 AND handed = 0 AND state = 3 AND sequence > ?2 LIMIT 1
      """, on: connection)
    signedLanes = try Statement(
      "SELECT lane, sequence, hash, anew FROM signed_lane", on: connection)
    writeSignedLane = try Statement(
      "INSERT OR REPLACE INTO signed_lane (lane, sequence, hash, anew) VALUES (?1, ?2, ?3, ?4)",
      on: connection)
    insertSignedVoid = try Statement(
      "INSERT OR IGNORE INTO signed_void (lane, sequence, told) VALUES (?1, ?2, ?3)",
      on: connection)
    untoldVoids = try Statement(
      """
      SELECT sequence FROM signed_void WHERE lane = ?1 AND told IS NULL ORDER BY sequence LIMIT ?2
      """, on: connection)
    tellVoids = try Statement(
      """
      UPDATE signed_void SET told = ?3 WHERE lane = ?1 AND sequence <= ?2 AND told IS NULL
      """, on: connection)
    retellVoids = try Statement(
      "UPDATE signed_void SET told = NULL WHERE lane = ?1 AND told = ?2", on: connection)
    forgetVoids = try Statement(
      "DELETE FROM signed_void WHERE lane = ?1 AND told = ?2", on: connection)
    anySignedVoid = try Statement("SELECT 1 FROM signed_void LIMIT 1", on: connection)
    signedVoids = try Statement("SELECT lane, sequence, told FROM signed_void", on: connection)
  }
}

import Foundation
import SQLite

/// What an outbox has on its disk while no process has it open, read from a copy.
struct OutboxCopy {
  /// The items whose requests and bodies are there.
  let held: Set<Int64>
  /// The items that the relay has, and that are not there any more.
  let letGo: Set<Int64>
  /// Those of them of which no receipt speaks that was compared with what was sent.
  let unproven: Set<Int64>
  /// The number of the next item.
  let next: Int64

  init(of folder: String) throws {
    let copy = try TemporaryFolder()
    let database = "/outbox.sqlite3"
    for end in ["", "-wal"] {
      let path = folder + database + end
      guard FileManager.default.fileExists(atPath: path) else { continue }
      try FileManager.default.copyItem(atPath: path, toPath: copy.path + database + end)
    }
    let connection = try SQLite.Connection(path: copy.path + database, access: .readWrite)
    held = try Self.ids(connection, "content")
    letGo = try Self.ids(connection, Self.gone)
    unproven = try Self.ids(connection, Self.gone + " AND NOT EXISTS (\(Self.receipts))")
    next = try connection.number("SELECT value FROM meta WHERE name = 'next_item'")
  }

  private static let gone = "item WHERE handed = 1 AND id NOT IN (SELECT id FROM content)"
  private static let receipts = """
    SELECT 1 FROM receipt WHERE receipt.lane = item.lane AND checked_from <= sequence
    AND sequence <= json_extract(CAST(json AS TEXT), '$.last')
    """

  private static func ids(
    _ connection: borrowing SQLite.Connection, _ rows: String
  ) throws -> Set<Int64> {
    let ids = try connection.text("SELECT group_concat(id) FROM \(rows)") ?? ""
    return Set(ids.split(separator: ",").compactMap { Int64($0) })
  }
}

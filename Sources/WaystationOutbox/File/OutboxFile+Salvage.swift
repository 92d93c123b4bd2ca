import RelayCore
import SQLite

extension OutboxFile {
  /// Opens the database of a folder. One that is damaged is set aside, and what can be read of it goes
  /// on in a new one.
  ///
  /// - Parameter damage: What was damaged, in words; left as it is if nothing was.
  static func open(
    in folder: String, durability: Durability, damage: inout String?
  ) throws(StoreError) -> OutboxFile {
    let path = path(in: folder)
    do throws(StoreError) {
      if Platform.size(of: mark(in: folder)) == nil {
        return try OutboxFile(path: path, durability: durability)
      }
    } catch {
      guard error.kind == .corrupt else { throw error }
    }
    let aside = try setAside(path, in: folder)
    let file = try OutboxFile(path: path, durability: durability)
    let (items, lost) = try file.takeOver(from: aside)
    Platform.remove(mark(in: folder))
    damage =
      "The database was damaged, and lies in \(aside) now. \(items) items of it go on, and "
      + "\(lost) could not be read."
    return file
  }

  /// A file that says that the database has to be salvaged the next time it is opened.
  static func mark(in folder: String) -> String { "\(folder)/damaged" }

  private static func setAside(
    _ path: String, in folder: String
  ) throws(StoreError) -> String {
    var number = 1
    while Platform.size(of: "\(path).damaged-\(number)") != nil { number += 1 }
    let aside = "\(path).damaged-\(number)"
    for suffix in ["-wal", "-shm"] where Platform.size(of: path + suffix) != nil {
      try Platform.move(path + suffix, to: aside + suffix)
    }
    try Platform.move(path, to: aside)
    try Platform.sync(folder)
    return aside
  }

  /// Copies all rows that can be read.
  private func takeOver(from aside: String) throws(StoreError) -> (items: Int, lost: Int) {
    let name = aside.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
    do throws(StoreError) {
      try connection.execute("ATTACH DATABASE '\(name)' AS damaged")
    } catch {
      // Not even its first page can be read.
      return (0, 0)
    }
    defer { try? connection.execute("DETACH DATABASE damaged") }
    try begin()
    do throws(StoreError) {
      for table in ["meta", "lane", "void_number"] {
        try? connection.execute("INSERT OR REPLACE INTO \(table) SELECT * FROM damaged.\(table)")
      }
      _ = try copyRows(of: "content")
      let (items, lost) = try copyRows(of: "item")
      _ = try copyRows(of: "ending")
      try connection.execute(Self.mending)
      try commit()
      return (items, lost)
    } catch {
      rollBack()
      throw error
    }
  }

  /// What rows that are missing leave behind.
  private static let mending = """
    DELETE FROM content WHERE id NOT IN (SELECT id FROM item);
    DELETE FROM item WHERE handed = 0 AND id NOT IN (SELECT id FROM content);
    INSERT OR IGNORE INTO lane (id, name, next, items, bytes, line, paused)
      SELECT DISTINCT lane, 'lane-' || lane, 1, 0, 0, 0, 0 FROM item;
    UPDATE lane SET
      items = (SELECT count(*) FROM item WHERE item.lane = lane.id),
      line = (SELECT count(*) FROM item WHERE item.lane = lane.id AND handed = 0),
      bytes = (SELECT coalesce(sum(bytes), 0) FROM item WHERE item.lane = lane.id),
      next = max(next, (SELECT coalesce(max(sequence), 0) + 1 FROM item WHERE item.lane = lane.id));
    INSERT OR REPLACE INTO meta (name, value)
      SELECT 'next_item', 1 + max(
        (SELECT coalesce(max(id), 0) FROM item), (SELECT coalesce(max(id), 0) FROM ending),
        coalesce((SELECT value FROM meta WHERE name = 'next_item'), 0));
    INSERT OR REPLACE INTO meta (name, value) VALUES ('must_rejoin', 1);
    """

  /// Copies the rows of a table one by one, and passes over those that cannot be read.
  private func copyRows(of table: String) throws(StoreError) -> (copied: Int, failed: Int) {
    guard
      let next = try? Statement(
        "SELECT id FROM damaged.\(table) WHERE id > ?1 ORDER BY id LIMIT 1", on: connection),
      let copy = try? Statement(
        "INSERT OR REPLACE INTO main.\(table) SELECT * FROM damaged.\(table) WHERE id = ?1",
        on: connection)
    else { return (0, 0) }
    var (copied, failed, inARow) = (0, 0, 0)
    var after: Int64 = 0
    while inARow < Self.failuresInARowMax {
      do throws(StoreError) {
        guard let id = try next.first(after, read: { row throws(StoreError) in row.int(0) }) else {
          break
        }
        after = id
        try copy.run(id)
        copied += 1
        inARow = 0
      } catch {
        guard error.kind == .corrupt else { throw error }
        after += 1
        failed += 1
        inARow += 1
      }
    }
    return (copied, failed)
  }

  /// The most numbers in a row that cannot be read before the rest of a table is given up.
  private static let failuresInARowMax = 10_000
}

import Foundation
import SQLite

/// What an outbox has on its disk while no process has it open, read from a copy.
struct OutboxCopy {
  /// The items whose requests and bodies are there.
  let held: Set<Int64>
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
    let ids = try connection.text("SELECT group_concat(id) FROM content") ?? ""
    held = Set(ids.split(separator: ",").compactMap { Int64($0) })
    next = try connection.number("SELECT value FROM meta WHERE name = 'next_item'")
  }
}

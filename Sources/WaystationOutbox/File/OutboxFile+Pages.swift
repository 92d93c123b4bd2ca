import RelayCore
import SQLite
import SQLitePages

extension OutboxFile {
  /// Copies all rows of a damaged database that its pages hold, without asking SQLite for them.
  ///
  /// The caller has begun a transaction, and mends what does not fit together then.
  ///
  /// - Returns: How many items there were, by what is kept of the lanes; nil if that is lost.
  func copyRows(of image: OutboxImage) throws(StoreError) -> Int? {
    if image.saidVersion > Schema.version, try Schema.version(of: image.list) == nil {
      try Self.refuseNewer(image.saidVersion)
    }
    let shapes = try TableShape.all(of: connection)
    let (pages, reader) = image.pages(of: shapes)
    // Nobody knows what is missing of the items, so no chain goes on.
    for (shape, pages) in zip(shapes, pages) where shape.name != "item_digest" {
      let insert = try Statement(
        """
        INSERT OR IGNORE INTO \(shape.name) (\(shape.columns.map(\.name).joined(separator: ", ")))
        VALUES (\(shape.columns.map { _ in "?" }.joined(separator: ", ")))
        """, on: connection)
      for page in pages {
        for values in image.rows(of: page, shape, reader) {
          for (place, value) in values.enumerated() { insert.bind(Int32(place + 1), value) }
          try insert.run()
        }
      }
    }
    try image.database.requireReads()
    try connection.execute("UPDATE receipt SET open = 0")
    let hasLanes = try connection.number("SELECT EXISTS (SELECT 1 FROM lane)") == 1
    return hasLanes ? Int(try connection.number("SELECT sum(items) FROM lane")) : nil
  }

  /// Opens a damaged database for SQLite to read it; nil if SQLite would not read all of it.
  static func readable(
    _ path: String, _ image: OutboxImage?
  ) throws(StoreError) -> OutboxFile? {
    if let image {
      guard !image.database.logImage.isDamaged, try Schema.version(of: image.list) != nil
      else { return nil }
    }
    return try unlessDamaged { () throws(StoreError) in try OutboxFile(damaged: path) }
  }
}

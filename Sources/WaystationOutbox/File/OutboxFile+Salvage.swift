import RelayCore
import SQLite

extension OutboxFile {
  /// Opens the database of a folder.
  ///
  /// One that is damaged is set aside, and what can be read of it goes on in a new one.
  ///
  /// - Parameter damage: What was damaged, in words; left as it is if nothing was.
  static func open(
    in folder: String, durability: Durability, damage: inout String?
  ) throws(StoreError) -> OutboxFile {
    let path = path(in: folder)
    do throws(StoreError) {
      if Platform.size(of: mark(in: folder)) == nil, hasSoundHeader(path),
        try !OutboxImage.hasLostCommits(path, durability)
      {
        let file = try OutboxFile(path: path, durability: durability)
        if let number = file.wrongVersion {
          damage =
            "The database said that its tables are of version \(number), which they are not; it "
            + "says what is right now. Nothing else was changed."
        }
        return file
      }
    } catch {
      guard error.kind == .corrupt else { throw error }
    }
    damage = try salvage(in: folder, durability: durability)
    return try OutboxFile(path: path, durability: durability)
  }

  private static func hasSoundHeader(_ path: String) -> Bool {
    // SQLite says what is wrong with a file that cannot be read.
    guard let header = DatabaseHeader(of: path) else { return true }
    return header.isSound(hasLog: Platform.size(of: path + "-wal") ?? 0 > 0)
  }

  /// A file that says that the database has to be salvaged the next time it is opened.
  static func mark(in folder: String) -> String { "\(folder)/damaged" }

  /// Makes a new database of what can be read, and puts it into the damaged one's place.
  ///
  /// The damaged one stays where it is until the new one is whole, and the mark until all is done:
  /// a process that ends in between does it anew, or ends what is left.
  ///
  /// - Returns: What was damaged, in words.
  private static func salvage(
    in folder: String, durability: Durability
  ) throws(StoreError) -> String {
    if Platform.size(of: mark(in: folder)) == nil {
      try Platform.write([], toNew: mark(in: folder))
      try Platform.sync(folder)
    }
    let path = path(in: folder)
    let fresh = "\(path).new"
    var found = "what could be read"
    if Platform.size(of: path) != nil || Platform.size(of: fresh) == nil {
      for suffix in ["", "-wal", "-shm"] { Platform.remove(fresh + suffix) }
      let file = try OutboxFile(path: fresh, durability: .full)
      try DatabaseHeader.mend(path)
      found = try file.takeOver(from: path, durability).words
    }
    let aside = try setAside(path, in: folder)
    try Platform.move(fresh, to: path)
    try Platform.sync(folder)
    Platform.remove(mark(in: folder))
    return "The database was damaged, and lies in \(aside) now: \(found)."
  }

  /// Moves the damaged database away, with its log: that must never lie beside another database.
  private static func setAside(
    _ path: String, in folder: String
  ) throws(StoreError) -> String {
    var number = 1
    while Platform.size(of: "\(path).damaged-\(number)") != nil { number += 1 }
    // Without a database this goes on with what was begun before.
    if Platform.size(of: path) == nil { number = max(1, number - 1) }
    let aside = "\(path).damaged-\(number)"
    for suffix in ["", "-wal", "-shm", DatabaseHeader.keptSuffix]
    where Platform.size(of: path + suffix) != nil {
      try Platform.move(path + suffix, to: aside + suffix)
    }
    try Platform.sync(folder)
    return aside
  }

  /// Copies all rows that can be read.
  private func takeOver(
    from aside: String, _ durability: Durability
  ) throws(StoreError) -> Salvaged {
    let image = try OutboxImage(aside, durability)
    let source = try Self.readable(aside, image)
    try begin()
    do throws(StoreError) {
      var before: Int?
      if let source {
        before = try copyRows(of: source)
      } else if let image = try OutboxImage(aside, durability) {
        before = try copyRows(of: image)
      }
      for statement in Self.mending { try connection.execute(statement) }
      let items = Int(try connection.number("SELECT count(*) FROM item"))
      try commit()
      return Salvaged(items: items, before: before)
    } catch {
      rollBack()
      throw error
    }
  }

  /// Copies all rows that SQLite can read.
  ///
  /// - Returns: How many items there were, by what is kept of the lanes; nil if that is lost.
  private func copyRows(of source: OutboxFile) throws(StoreError) -> Int? {
    for name in MetaName.allCases {
      let text = try Self.unlessDamaged { () throws(StoreError) in try source.text(name) }
      guard let text = text ?? nil else { continue }
      if let number = Int64(text) { try set(name, number) } else { try set(name, text) }
    }
    let lanes = try Self.unlessDamaged { () throws(StoreError) in try source.lanes() }
    for lane in lanes ?? [] { try write(lane) }
    let voids = try Self.unlessDamaged { () throws(StoreError) in
      try source.voidNumbers(countMax: Int.max >> 1)
    }
    for void in voids ?? [] { try insert(void) }
    try copyReceipts(from: source)
    try copySignatures(from: source)
    try copyItems(from: source)
    try copyEndings(from: source)
    return lanes.map { $0.reduce(0) { $0 + $1.items } }
  }

  /// What can be read; nil if it is damaged.
  ///
  /// - Throws: Any other error: a disk that does not answer has lost nothing, and what it holds
  ///   must not be taken for lost.
  static func unlessDamaged<Value>(
    _ read: () throws(StoreError) -> Value
  ) throws(StoreError) -> Value? {
    do throws(StoreError) { return try read() } catch {
      switch error.kind {
      // A table that is missing is a schema that was damaged.
      case .corrupt, .other: return nil
      default: throw error
      }
    }
  }

  /// What rows that are missing leave behind.
  private static let mending = [
    """
    DELETE FROM unproven WHERE NOT EXISTS (
    SELECT 1 FROM item WHERE item.lane = unproven.lane AND item.sequence = unproven.sequence)
    """,
    """
    INSERT OR IGNORE INTO unproven (lane, sequence) SELECT lane, sequence FROM item
    WHERE handed = 1 AND sequence IS NOT NULL AND id IN (SELECT id FROM ending)
    """,
    "DELETE FROM content WHERE id NOT IN (SELECT id FROM item)",
    "DELETE FROM item_signature WHERE item NOT IN (SELECT id FROM item)",
    "DELETE FROM item WHERE handed = 0 AND id NOT IN (SELECT id FROM content)",
    // A lane's name stands with what was sent of it; the parts of one without order have others.
    """
    INSERT OR IGNORE INTO lane (id, name, next, items, bytes, line, paused)
    SELECT lane, min(relay_lane), 1, 0, 0, 0, 0 FROM item
    WHERE instr(relay_lane, '~') = 0 GROUP BY lane
    """,
    """
    INSERT OR IGNORE INTO lane (id, name, next, items, bytes, line, paused)
    SELECT DISTINCT lane, 'lane-' || lane, 1, 0, 0, 0, 0 FROM item
    """,
    """
    UPDATE lane SET
    items = (SELECT count(*) FROM item WHERE item.lane = lane.id),
    line = (SELECT count(*) FROM item WHERE item.lane = lane.id AND handed = 0),
    bytes = (SELECT coalesce(sum(bytes), 0) FROM item WHERE item.lane = lane.id),
    next = max(next, (SELECT coalesce(max(sequence), 0) + 1 FROM item WHERE item.lane = lane.id))
    """,
    """
    INSERT INTO signed_lane (lane, sequence, hash, anew) SELECT id, 0, NULL, 1 FROM lane WHERE true
    ON CONFLICT (lane) DO UPDATE SET anew = 1
    """,
    """
    INSERT OR REPLACE INTO meta (name, value)
    SELECT 'next_item', 1 + max(
    (SELECT coalesce(max(id), 0) FROM item), (SELECT coalesce(max(id), 0) FROM ending),
    coalesce((SELECT value FROM meta WHERE name = 'next_item'), 0))
    """,
    "INSERT OR REPLACE INTO meta (name, value) VALUES ('must_rejoin', 1)",
  ]

  /// Copies the items one by one, and passes over those that cannot be read.
  private func copyItems(from source: OutboxFile) throws(StoreError) {
    var walk = SalvageWalk()
    while let after = walk.next {
      let page = try Self.unlessDamaged { () throws(StoreError) in
        try source.items(after: after, countMax: 1)
      }
      guard let found = page else {
        walk.failed()
        continue
      }
      guard let item = found.first else { break }
      guard item.id > after else {
        walk.failed()
        continue
      }
      try copy(item, from: source)
      walk.passed(item.id)
    }
  }

  /// Copies an item, unless its content cannot be read.
  private func copy(_ item: KeptItem, from source: OutboxFile) throws(StoreError) {
    let read = try Self.unlessDamaged { () throws(StoreError) in try source.content(of: item.id) }
    guard let content = read else { return }
    // Two rows of one key cannot both be right.
    guard try self.item(key: item.key) == nil else { return }
    if let content {
      try insert(item, content)
      return
    }
    guard item.isHanded else { return }
    try insert(
      item, KeptRequest(upstream: nil, method: "POST", path: "/", headers: []), .none)
    try deleteContent(of: item.id)
  }

  /// Copies the receipts, which stay proofs.
  ///
  /// Nobody knows what is missing of the items, so their chains do not go on here.
  private func copyReceipts(from source: OutboxFile) throws(StoreError) {
    let receipts = try Self.unlessDamaged { () throws(StoreError) in try source.allReceipts() }
    for (lane, receipt) in receipts ?? [] {
      var closed = receipt
      closed.isOpen = false
      try store(closed, of: lane)
    }
    let kept = try Self.unlessDamaged { () throws(StoreError) in try source.keptThrough() }
    for (lane, number) in kept ?? [:] { try setKept(lane, through: number) }
    try copyProofs(from: source)
  }

  /// Copies what is signed of ends, and which ends are to be signed yet.
  private func copyProofs(from source: OutboxFile) throws(StoreError) {
    let lanes = try Self.unlessDamaged { () throws(StoreError) in try source.lanes() }
    for lane in (lanes ?? []).map(\.number) {
      let numbers = try Self.unlessDamaged { () throws(StoreError) in
        try source.unproven(of: lane, above: 0, countMax: Int.max >> 1)
      }
      for number in numbers ?? [] { try insertUnproven(lane, UInt64(clamping: number)) }
    }
    let pages = try Self.unlessDamaged { () throws(StoreError) in try source.allPages() }
    for (id, lane, page) in pages ?? [] { try insert(page, of: lane, id: id) }
    let proofs = try Self.unlessDamaged { () throws(StoreError) in try source.proofs() }
    for (item, page) in proofs ?? [] { try insertProof(of: item, page: page) }
  }

  private func copyEndings(from source: OutboxFile) throws(StoreError) {
    var walk = SalvageWalk()
    while let after = walk.next {
      let read = try Self.unlessDamaged { () throws(StoreError) in
        try source.nextEnding(after: after)
      }
      guard let found = read else {
        walk.failed()
        continue
      }
      guard let ending = found else { break }
      if ending.id > after { try insert(ending) }
      walk.passed(max(ending.id, after + 1))
    }
  }
}

/// What was saved of a damaged database.
private struct Salvaged {
  /// The items that go on.
  var items = 0
  /// How many there were, by what is kept of the lanes; nil if that cannot be read.
  var before: Int?

  var words: String {
    let lost = before.map { "\(max(0, $0 - items))" } ?? "nobody knows how many"
    return "\(items) items of it go on, and \(lost) could not be read"
  }
}

/// A walk along the numbers of rows, of which some cannot be read.
private struct SalvageWalk {
  /// The row behind which the next one is looked for; nil once the rest is given up.
  var next: Int64? = 0
  private var failuresInARow = 0

  /// The most places in a row that cannot be read before the rest is given up.
  private static let failuresInARowMax = 2000
  /// The most numbers that are passed over at a time: a page has fewer rows than that.
  private static let stepMax: Int64 = 32

  /// Nothing could be read behind the last row.
  mutating func failed() {
    failuresInARow += 1
    let step = min(Self.stepMax, 1 + Int64(failuresInARow) / 8)
    next = failuresInARow < Self.failuresInARowMax ? next.map { $0 + step } : nil
  }

  /// A row was read.
  mutating func passed(_ row: Int64) {
    failuresInARow = 0
    next = row
  }
}

#if PostgreSQL
import Postgres
import RelayCore

// Each is a bounded step of the search for names that nothing refers to any more: it removes names
// from the candidates, or adds names to them. See ``NameWalk``.
extension DatabaseReader {
  /// Takes one step of a walk along names.
  func look(_ walk: inout NameWalk) throws(StoreError) {
    switch walk.phase {
    case .begin, .forget: break
    case .gather(let number):
      let next = try gather(walk.kind, after: number, into: &walk.candidates)
      walk.phase =
        if let next { .gather(after: next) } else if walk.kind == .lanes { .line(after: 0) } else {
          .events(from: 0)
        }
    case .line(let serial):
      let next = try takeOutWaiting(from: &walk.candidates, after: serial)
      walk.phase = next.map { .line(after: $0) } ?? .events(from: 0)
    case .events(let number):
      let next = try takeOutOfEvents(from: &walk.candidates, walk.kind, row: number)
      walk.phase = next.map { .events(from: $0) } ?? .forget(from: walk.candidates.first)
    }
  }

  /// Adds lanes without a kept end or a sequence number, or clients without a lane.
  ///
  /// - Returns: The last number that was looked at; nil if the range is done.
  private func gather(
    _ kind: NameWalk.Kind, after number: Int64, into names: inout NumberBits
  ) throws(StoreError) -> Int64? {
    let isUnused =
      switch kind {
      case .lanes: UnusedNames.lane
      case .clients: UnusedNames.client
      }
    let table = kind == .lanes ? "lane" : "client"
    let rows = try run([
      PostgresCommand(
        sql: """
          SELECT number, \(isUnused) FROM \(table)
          WHERE number > $1 AND number <= $2 ORDER BY number LIMIT $3
          """,
        [.int64(number), .int64(names.last), .int64(Int64(ReadingLimits.namesPerStep))])
    ])[0]
    for row in 0..<rows.count where rows.bool(row, 1) { names.insert(rows.int64(row, 0)) }
    return rows.count < ReadingLimits.namesPerStep ? nil : rows.int64(rows.count - 1, 0)
  }

  /// Removes the lanes in which something waits.
  ///
  /// - Returns: The last place that was looked at; nil at the end of the line.
  private func takeOutWaiting(
    from names: inout NumberBits, after serial: Serial
  ) throws(StoreError) -> Serial? {
    let countMax = Int64(ReadingLimits.lineLooksPerStep)
    let rows = try run([
      PostgresCommand(
        """
        SELECT lane, count(*), max(serial) FROM (
          SELECT serial, lane FROM line WHERE serial > $1 ORDER BY serial LIMIT $2
        ) AS stretch GROUP BY lane
        """, [.int64(serial), .int64(countMax)])
    ])[0]
    var (count, last) = (Int64(0), serial)
    for row in 0..<rows.count {
      names.remove(rows.int64(row, 0))
      count += rows.int64(row, 1)
      last = max(last, rows.int64(row, 2))
    }
    return count < countMax ? nil : last
  }
}

/// The conditions, besides what waits and what is logged, under which nothing refers to a name.
enum UnusedNames {
  /// Of a lane: it keeps no ends, and has taken no numbers.
  static let lane = """
    (last_sequence IS NULL AND delivered = 0 AND failed = 0 AND expired = 0 AND cancelled = 0)
    """
  /// Of a client: it has no lanes.
  static let client = "NOT EXISTS (SELECT 1 FROM lane WHERE lane.client = client.number)"
}
#endif

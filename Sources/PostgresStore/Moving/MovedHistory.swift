#if PostgreSQL
import RelayCore

/// Adds up the rows of several processes to those of one, which other stores have.
///
/// The rows come in the order of upstreams, minutes and processes.
struct MovedHistory {
  private var upstream: MovedValue = .null
  /// How many wait at each process, as its last row of this upstream says.
  private var waiting: [Int64: Int64] = [:]
  /// The rows of one minute, added up so far.
  private var open: MovedRow?

  private static let minute = MovedTable.history.place(of: "minute")
  private static let counts = ["accepted", "delivered", "failed"].map {
    MovedTable.history.place(of: $0)
  }
  private static let waiting = MovedTable.history.place(of: "waiting")
  private static let delays = MovedTable.history.place(of: "delays")

  /// Adds a row, behind whose columns its process stands.
  ///
  /// - Returns: The row of another minute, if that is complete now.
  mutating func add(_ row: MovedRow) -> MovedRow? {
    var row = row
    let process = row.removeLast().integer ?? 0
    if row[0] != upstream { (upstream, waiting) = (row[0], [:]) }
    waiting[process] = row[Self.waiting].integer ?? 0
    let whole = waiting.values.reduce(0, &+)
    defer { open?[Self.waiting] = .integer(whole) }
    guard let own = open, own[0] == row[0], own[Self.minute] == row[Self.minute] else {
      defer { open = row }
      return open
    }
    open = Self.sum(own, row)
    return nil
  }

  /// The last row; nil if there was none.
  mutating func finish() -> MovedRow? {
    defer { open = nil }
    return open
  }

  private static func sum(_ left: MovedRow, _ right: MovedRow) -> MovedRow {
    var sum = left
    for place in counts {
      sum[place] = .integer((left[place].integer ?? 0) &+ (right[place].integer ?? 0))
    }
    var figures = HistoryFigures()
    if let delays = HistoryCode.delays(left[delays].bytes ?? []) { figures.delays = delays }
    var more = HistoryFigures()
    if let delays = HistoryCode.delays(right[delays].bytes ?? []) { more.delays = delays }
    figures.merge(more)
    sum[delays] = .bytes(HistoryCode.bytes(of: figures.delays))
    return sum
  }
}
#endif

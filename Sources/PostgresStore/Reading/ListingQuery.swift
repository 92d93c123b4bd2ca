#if PostgreSQL
import Postgres
import RelayCore

/// One call of a list, as a statement.
///
/// It walks the narrow tables by number, a bounded number of rows, and reads of the others only
/// what a condition asks for. All is done by one statement, and so as of one moment.
struct ListingQuery {
  private let filter: EnvelopeFilter
  private let serial: Serial
  private let countMax: Int
  private let looksMax: Int
  private var values: [PostgresValue] = []
  /// What a row of the line must meet to be looked at; nil if none of them can pass.
  private var lineWalk: [String]? = []
  /// The same of ended ones.
  private var endedWalk: [String]? = []
  /// What a row that is looked at must meet to pass.
  private var conditions: [String] = []

  /// - Parameters:
  ///   - countMax: The most envelopes to return; one more is read, by which it is known whether
  ///     there is one.
  ///   - looksMax: The most rows to look at.
  init(_ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int) {
    self.filter = filter
    self.serial = serial
    self.countMax = countMax
    self.looksMax = looksMax
  }

  /// The statement; nil if nothing can pass.
  static func command(
    _ filter: EnvelopeFilter, after serial: Serial, countMax: Int, looksMax: Int
  ) -> PostgresCommand? {
    guard !filter.hasZeroCharacter else { return nil }
    var query = ListingQuery(filter, after: serial, countMax: countMax, looksMax: looksMax)
    return query.command()
  }

  private mutating func command() -> PostgresCommand? {
    let start = parameter(.int64(serial))
    let looks = parameter(.int64(Int64(looksMax)))
    let count = parameter(.int64(Int64(countMax) + 1))
    walkBehind(start)
    selectStates()
    selectNames()
    selectTags()
    selectTimes()
    selectOutcome()
    let walks = [
      lineWalk.map { walk(SummaryRow.lineColumns, "line", $0, looks) },
      endedWalk.map { walk(SummaryRow.endedColumns, "ended", $0, looks) },
    ].compactMap(\.self)
    guard !walks.isEmpty else { return nil }
    let looked = """
      SELECT * FROM (\(walks.joined(separator: " UNION ALL "))) AS either
      ORDER BY serial LIMIT \(looks)
      """
    // A full page ends where it is full: no row behind it is looked at. Else it has to be known how
    // far the looks went.
    return PostgresCommand(
      sql: """
        WITH passing AS (
          SELECT * FROM (\(looked)) AS looked\(Self.all(of: conditions))
          ORDER BY serial LIMIT \(count)
        ), looks AS (
          SELECT count(*) AS count, max(serial) AS through FROM (\(looked)) AS looked
        )
        SELECT \(SummaryRow.columns), looks.count, looks.through
        FROM (
          SELECT CASE WHEN size.count < \(count) THEN (SELECT count FROM looks) END AS count,
            CASE WHEN size.count < \(count) THEN (SELECT through FROM looks) END AS through
          FROM (SELECT count(*) AS count FROM passing) AS size
        ) AS looks LEFT JOIN (passing \(SummaryRow.joins)) ON true ORDER BY passing.serial
        """, values)
  }

  private func walk(
    _ columns: String, _ table: String, _ conditions: [String], _ looks: String
  ) -> String {
    """
    (SELECT \(columns) FROM \(table)\(Self.all(of: conditions)) ORDER BY serial LIMIT \(looks))
    """
  }

  private static func all(of conditions: [String]) -> String {
    conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
  }

  /// The name of a parameter of this value.
  private mutating func parameter(_ value: PostgresValue) -> String {
    values.append(value)
    return "$\(values.count)"
  }

  private mutating func require(ofWalks condition: String) {
    lineWalk?.append(condition)
    endedWalk?.append(condition)
  }

  // MARK: - Conditions

  private mutating func walkBehind(_ start: String) {
    guard let time = filter.selection.accepted.since else {
      return require(ofWalks: "serial > \(start)")
    }
    let since = parameter(.int64(time.millisecondsSinceEpoch))
    require(ofWalks: "serial > greatest(\(start), (SELECT last_serial_before(\(since))))")
  }

  private mutating func selectStates() {
    let states = filter.selection.states
    let ends = states.compactMap(\.endCode)
    if ends.isEmpty { endedWalk = nil }
    // An index has just these; see `ended_undelivered`.
    if !states.contains(.delivered) { endedWalk?.append("state <> 1") }
    if ends.count < EnvelopeState.ends.count, !ends.isEmpty {
      let codes = parameter(.int16s(ends.map { Int16($0) }))
      conditions.append("(state IS NULL OR state = ANY(\(codes)))")
    }
    guard filter.selection.ended.isEverything else {
      lineWalk = nil
      return
    }
    let standings = Standing.allCases.filter { states.contains($0.state) }
    let flying = states.contains(.delivering) ? filter.inFlight : []
    let hidden = states.contains(.delivering) ? [] : filter.inFlight
    select(standings, flying: flying, hidden: hidden)
  }

  /// Selects what waits.
  ///
  /// - Parameters:
  ///   - flying: What is being delivered, if that is selected: it is stored as queued.
  ///   - hidden: The same, if it is not.
  private mutating func select(
    _ standings: [Standing], flying: Set<Serial>, hidden: Set<Serial>
  ) {
    let queued = Standing.queued.rawValue
    guard !standings.isEmpty else {
      guard !flying.isEmpty else {
        lineWalk = nil
        return
      }
      let serials = parameter(.int64s(flying.sorted()))
      lineWalk?.append("standing = \(queued) AND serial = ANY(\(serials))")
      return
    }
    if standings.count < Standing.allCases.count {
      let codes = parameter(.int16s(standings.map { Int16($0.rawValue) }))
      var condition = "standing IS NULL OR standing = ANY(\(codes))"
      if !flying.isEmpty, !standings.contains(.queued) {
        let serials = parameter(.int64s(flying.sorted()))
        condition += " OR standing = \(queued) AND serial = ANY(\(serials))"
      }
      conditions.append("(\(condition))")
    }
    if !hidden.isEmpty, standings.contains(.queued) {
      let serials = parameter(.int64s(hidden.sorted()))
      conditions.append("(standing IS DISTINCT FROM \(queued) OR serial <> ALL(\(serials)))")
    }
  }

  /// Nothing is walked where a name is not known.
  private mutating func selectNames() {
    let selection = filter.selection
    let client = selection.client.map { parameter(.text($0)) }
    let lane = selection.lane.map { parameter(.text($0)) }
    if let client, let lane {
      select(
        "lane",
        """
        (SELECT lane.number FROM lane JOIN client ON client.number = lane.client \
        WHERE client.name = \(client) AND lane.name = \(lane))
        """)
    } else if let client {
      select("client", "(SELECT number FROM client WHERE name = \(client))")
    } else if let lane {
      conditions.append("(SELECT name FROM lane WHERE number = looked.lane) = \(lane)")
    }
    if let upstream = selection.upstream.map({ parameter(.text($0)) }) {
      select("upstream", "(SELECT number FROM upstream WHERE name = \(upstream))")
    }
  }

  private mutating func select(_ column: String, _ number: String) {
    require(ofWalks: "\(number) IS NOT NULL")
    conditions.append("\(column) = \(number)")
  }

  /// The tag alone is not in the narrow tables: each row's is looked up.
  private mutating func selectTags() {
    let tag = "(SELECT tag FROM envelope WHERE serial = looked.serial)"
    if let wanted = filter.selection.tag {
      let value = parameter(.text(wanted))
      conditions.append("\(tag) = \(value)")
    }
    if let tags = filter.anyOfTags {
      let value = parameter(.texts(tags.sorted()))
      conditions.append("\(tag) = ANY(\(value))")
    }
  }

  private mutating func selectTimes() {
    select("accepted_at", in: filter.selection.accepted)
    select("ended_at", in: filter.selection.ended)
  }

  private mutating func select(_ column: String, in span: EnvelopeSelection.TimeSpan) {
    if let since = span.since {
      let value = parameter(.int64(since.millisecondsSinceEpoch))
      conditions.append("\(column) >= \(value)")
    }
    if let until = span.until {
      let value = parameter(.int64(until.millisecondsSinceEpoch))
      conditions.append("\(column) < \(value)")
    }
  }

  private mutating func selectOutcome() {
    let selection = filter.selection
    if let status = selection.status {
      let value = parameter(.int64(Int64(status)))
      conditions.append(
        "(SELECT status FROM response WHERE serial = looked.serial) = \(value)")
    }
    if let reason = selection.reason {
      let value = parameter(.text(reason))
      conditions.append("strpos(reason, \(value)) > 0")
    }
    if let isDiscarded = selection.isDiscarded {
      let beginning = parameter(.text(DiscardReason.text("")))
      let isOne = "coalesce(starts_with(reason, \(beginning)), false)"
      conditions.append(isDiscarded ? isOne : "NOT \(isOne)")
    }
  }
}

extension EnvelopeFilter {
  /// Whether a character 0 is asked for, which stands nowhere in this store.
  fileprivate var hasZeroCharacter: Bool {
    let texts = [
      selection.client, selection.lane, selection.upstream, selection.tag, selection.reason,
    ]
    return texts.contains { $0?.utf8.contains(0) == true }
      || anyOfTags?.contains { $0.utf8.contains(0) } == true
  }
}
#endif

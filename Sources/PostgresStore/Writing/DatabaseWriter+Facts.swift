#if PostgreSQL
import Postgres
import RelayCore

// What a batch of posts asks is answered by one round trip, before its transaction.
extension DatabaseWriter {
  /// Answers the questions of a batch.
  ///
  /// - Returns: The facts, and the places of what waits under the names that were asked for.
  func gather(
    _ questions: AppendQuestions, reserve: @escaping @Sendable (Serial, LaneNumber) -> Bool
  ) throws(StoreError) -> (facts: GatheredFacts, waiting: [Serial: WaitingRow]) {
    var facts = GatheredFacts(
      given: given, nameLimits: shared.nameLimits, reserve: reserve)
    for name in questions.upstreams {
      if let number = upstreams[name] { facts.fill(upstream: name, number) }
    }
    let asked = AskedFacts(questions, besides: &knownNames, remembersKeys: remembersKeys)
    asked.fillKnown(&facts)
    let commands = asked.commands
    guard !commands.isEmpty else {
      // Whoever asks finds out that the database is away, and has written nothing then.
      try reach()
      return (facts, [:])
    }
    let rows = try read(commands)
    let waiting = try asked.fill(&facts, from: rows) { knownNames.insert($1, for: $0) }
    return (facts, waiting)
  }
}

/// The queries of a batch, and how their answers are read.
struct AskedFacts {
  private let questions: AppendQuestions
  /// The lanes that are asked for, and the others.
  private let lanes: [LaneName]
  private let known: [(name: LaneName, lane: KnownLane)]
  private let keys: [AppendQuestions.Key]
  private let asksForRemembered: Bool
  private let numbers: [(lane: LaneName, number: Int64)]
  private let names: [AppendQuestions.Name]

  /// - Parameters:
  ///   - knownNames: Lanes that need not be asked for, unless it is about their numbers.
  ///   - remembersKeys: Whether there may be keys whose envelopes are forgotten.
  init(
    _ questions: AppendQuestions, besides knownNames: inout GenerationCache<LaneName, KnownLane>,
    remembersKeys: Bool
  ) {
    self.questions = questions
    var (lanes, known): ([LaneName], [(LaneName, KnownLane)]) = ([], [])
    for name in questions.lanes {
      if questions.numbers[name] == nil, let lane = knownNames.value(for: name) {
        known.append((name, lane))
      } else {
        lanes.append(name)
      }
    }
    (self.lanes, self.known) = (lanes, known)
    keys = Array(questions.keys)
    asksForRemembered = remembersKeys && !keys.isEmpty
    numbers = questions.numbers.flatMap { lane, numbers in numbers.map { (lane, $0) } }
    names = Array(questions.names)
  }

  /// Looks each client that is asked for up by its name.
  ///
  /// A join would say the same. But where the server has no statistics of the tables yet, it takes
  /// a name for one that few rows have, and reads all lanes that are called "default". A look-up of
  /// one row at a time goes by the index, whatever the server believes.
  private static let clientOfAsked = """
    CROSS JOIN LATERAL (SELECT * FROM client WHERE client.name = asked.client LIMIT 1) AS client
    """
  /// Looks each lane that is asked for up by its client and its name.
  private static let laneOfAsked = """
    \(clientOfAsked)
    CROSS JOIN LATERAL (
      SELECT * FROM lane WHERE lane.client = client.number AND lane.name = asked.lane LIMIT 1
    ) AS lane
    """

  /// What there is to ask.
  var commands: [PostgresCommand] {
    var commands = lanes.isEmpty ? [] : laneCommands
    if !keys.isEmpty { commands.append(keyCommand) }
    if asksForRemembered { commands.append(.rememberedKeys(keys)) }
    if !numbers.isEmpty { commands += numberCommands }
    if !names.isEmpty { commands.append(nameCommand) }
    return commands
  }

  private var laneCommands: [PostgresCommand] {
    [
      PostgresCommand(
        """
        SELECT name, number, (SELECT count(*) FROM lane WHERE lane.client = client.number)
        FROM client WHERE name = ANY($1)
        """, [.texts(Array(Set(lanes.map(\.client))))]),
      PostgresCommand(
        sql: """
          SELECT client.name, lane.name, lane.number, client.number, last_sequence, placed_through
          FROM unnest($1, $2) AS asked(client, lane) \(Self.laneOfAsked)
          """, [.texts(lanes.map(\.client)), .texts(lanes.map(\.lane))]),
    ]
  }

  private var keyCommand: PostgresCommand {
    PostgresCommand(
      sql: """
        SELECT asked.key, client.number, envelope.id,
          coalesce(key_index.fingerprint, envelope.fingerprint), envelope.key, standing, state
        FROM unnest($1, $2) AS asked(client, key)
        \(Self.clientOfAsked)
        CROSS JOIN LATERAL (
          SELECT * FROM key_index
          WHERE key_index.client = client.number AND key_index.key = asked.key LIMIT 1
        ) AS key_index
        JOIN envelope ON envelope.serial = key_index.serial
        LEFT JOIN line ON line.serial = envelope.serial
        LEFT JOIN ended ON ended.serial = envelope.serial
        """, [.texts(keys.map(\.client)), .texts(keys.map(\.key))])
  }

  private var numberCommands: [PostgresCommand] {
    let asked: [PostgresValue] = [
      .texts(numbers.map(\.lane.client)), .texts(numbers.map(\.lane.lane)),
      .int64s(numbers.map(\.number)),
    ]
    let lanes = Array(questions.numbers.keys)
    return [
      PostgresCommand(
        sql: """
          SELECT lane.number, asked.number, envelope.id, envelope.fingerprint, envelope.key,
            standing, state
          FROM unnest($1, $2, $3) AS asked(client, lane, number)
          \(Self.laneOfAsked)
          CROSS JOIN LATERAL (
            SELECT * FROM sequence_index AS one
            WHERE one.lane = lane.number AND one.number = asked.number LIMIT 1
          ) AS taken
          LEFT JOIN envelope ON envelope.serial = taken.serial
          LEFT JOIN line ON line.serial = taken.serial
          LEFT JOIN ended ON ended.serial = taken.serial
          """, asked),
      PostgresCommand(
        sql: """
          SELECT lane.number, gap.first, gap.last, gap.is_skipped
          FROM unnest($1, $2, $3) AS asked(client, lane, number)
          \(Self.laneOfAsked)
          JOIN LATERAL (
            SELECT * FROM gap WHERE gap.lane = lane.number AND gap.first <= asked.number
            ORDER BY gap.first DESC LIMIT 1
          ) AS gap ON gap.last >= asked.number
          """, asked),
      PostgresCommand(
        sql: """
          SELECT lane.number, gap.first, gap.last, gap.is_skipped
          FROM unnest($1, $2, $3) AS asked(client, lane, count)
          \(Self.laneOfAsked)
          JOIN LATERAL (
            SELECT * FROM gap
            WHERE gap.lane = lane.number AND NOT is_skipped
              AND gap.first > coalesce(placed_through, 0)
            ORDER BY gap.first LIMIT asked.count
          ) AS gap ON true
          """,
        [
          .texts(lanes.map(\.client)), .texts(lanes.map(\.lane)),
          .int64s(lanes.map { Int64(questions.openGapCount(in: $0)) }),
        ]),
    ]
  }

  private var nameCommand: PostgresCommand {
    PostgresCommand(
      sql: """
        SELECT \(WaitingRow.columns), asked.name, envelope.id, envelope.key, envelope.fingerprint,
          envelope.not_before, envelope.revision
        FROM unnest($1, $2, $3) AS asked(client, lane, name)
        \(Self.laneOfAsked)
        CROSS JOIN LATERAL (
          SELECT * FROM name_index
          WHERE name_index.lane = lane.number AND name_index.name = asked.name LIMIT 1
        ) AS name_index
        JOIN line ON line.serial = name_index.serial
        JOIN envelope ON envelope.serial = name_index.serial
        """,
      [
        .texts(names.map(\.lane.client)), .texts(names.map(\.lane.lane)),
        .texts(names.map(\.name)),
      ])
  }

  // MARK: - Answers

  /// Fills in what was not asked for.
  ///
  /// A client with a lane that is to be new is asked for, so nobody counts the lanes of others.
  func fillKnown(_ facts: inout GatheredFacts) {
    for (name, lane) in known {
      facts.fill(client: name.client, lane.client, laneCount: 0)
      facts.fill(lane: name, lane, placedThrough: nil, gaps: [])
    }
  }

  /// Fills the answers in.
  ///
  /// - Parameter note: Is told of each lane that there is.
  /// - Returns: The places of what waits under names.
  func fill(
    _ facts: inout GatheredFacts, from rows: [PostgresRows], note: (LaneName, KnownLane) -> Void
  ) throws(StoreError) -> [Serial: WaitingRow] {
    var rest = rows[...]
    let laneRows = lanes.isEmpty ? nil : (rest.removeFirst(), rest.removeFirst())
    let keyRows = keys.isEmpty ? nil : rest.removeFirst()
    if asksForRemembered { Self.fillRemembered(&facts, rest.removeFirst()) }
    let numberRows =
      numbers.isEmpty ? nil : (rest.removeFirst(), rest.removeFirst(), rest.removeFirst())
    let gaps = numberRows.map { Self.gaps([$0.1, $0.2]) } ?? [:]
    if let (clients, lanes) = laneRows {
      for row in 0..<clients.count {
        facts.fill(
          client: clients.text(row, 0), ClientNumber(rawValue: clients.int64(row, 1)),
          laneCount: clients.int64(row, 2))
      }
      for row in 0..<lanes.count {
        let name = LaneName(client: lanes.text(row, 0), lane: lanes.text(row, 1))
        let lane = KnownLane(
          client: ClientNumber(rawValue: lanes.int64(row, 3)),
          number: LaneNumber(rawValue: lanes.int64(row, 2)), lastSequence: lanes.int64OrNil(row, 4))
        facts.fill(
          lane: name, lane, placedThrough: lanes.int64OrNil(row, 5), gaps: gaps[lane.number] ?? [])
        note(name, lane)
      }
    }
    if let rows = keyRows { try fillKeys(&facts, rows) }
    if let rows = numberRows?.0 { try fillNumbers(&facts, rows) }
    return try rest.first.map { rows throws(StoreError) in try fillNames(&facts, rows) } ?? [:]
  }

  private static func gaps(_ tables: [PostgresRows]) -> [LaneNumber: [SequenceGap]] {
    var gaps: [LaneNumber: [Int64: SequenceGap]] = [:]
    for rows in tables {
      for row in 0..<rows.count {
        let range = SequenceRange(first: rows.int64(row, 1), last: rows.int64(row, 2))
        gaps[LaneNumber(rawValue: rows.int64(row, 0)), default: [:]][range.first] = SequenceGap(
          range, isSkipped: rows.bool(row, 3))
      }
    }
    return gaps.mapValues { $0.values.sorted { $0.range.first < $1.range.first } }
  }

  private func fillKeys(
    _ facts: inout GatheredFacts, _ rows: PostgresRows
  ) throws(StoreError) {
    for row in 0..<rows.count {
      facts.fill(
        key: rows.text(row, 0), of: ClientNumber(rawValue: rows.int64(row, 1)),
        try Self.post(rows, row, from: 2))
    }
  }

  private static func fillRemembered(_ facts: inout GatheredFacts, _ rows: PostgresRows) {
    for row in 0..<rows.count {
      let key = AppendQuestions.Key(client: rows.text(row, 0), key: rows.text(row, 1))
      facts.fill(remembered: key, rows.bytes(row, 2))
    }
  }

  private func fillNumbers(
    _ facts: inout GatheredFacts, _ rows: PostgresRows
  ) throws(StoreError) {
    for row in 0..<rows.count {
      // One that ended while it was parked, and was not kept any longer, is forgotten.
      facts.fill(
        number: rows.int64(row, 1), in: LaneNumber(rawValue: rows.int64(row, 0)),
        rows.isNull(row, 2) ? .forgotten : .post(try Self.post(rows, row, from: 2)))
    }
  }

  /// Columns: id, fingerprint, key, standing, state.
  private static func post(
    _ rows: PostgresRows, _ row: Int, from column: Int
  ) throws(StoreError) -> StoredPost {
    let state: EnvelopeState
    if let code = rows.int16OrNil(row, column + 3) {
      state = try Standing(stored: code).state
    } else {
      state = try EnvelopeState(stored: rows.int16OrNil(row, column + 4))
    }
    return StoredPost(
      id: try EnvelopeID(stored: rows.uuid(row, column)), fingerprint: rows.bytes(row, column + 1),
      key: rows.textOrNil(row, column + 2), state: state)
  }

  private func fillNames(
    _ facts: inout GatheredFacts, _ rows: PostgresRows
  ) throws(StoreError) -> [Serial: WaitingRow] {
    var places: [Serial: WaitingRow] = [:]
    let next = WaitingRow.columnCount
    for row in 0..<rows.count {
      let line = try WaitingRow(rows, row)
      facts.fill(
        name: rows.text(row, next), in: line.entry.lane,
        WaitingPost(
          id: try EnvelopeID(stored: rows.uuid(row, next + 1)), key: rows.textOrNil(row, next + 2),
          fingerprint: rows.bytes(row, next + 3),
          notBefore: WallTime(stored: rows.int64OrNil(row, next + 4)),
          revision: rows.int64(row, next + 5), entry: line.entry))
      places[line.entry.serial] = line
    }
    return places
  }
}
#endif

#if PostgreSQL
import Postgres
import RelayCore

// The statements that write the rows of posts, one for each table that has any.
extension PostRows {
  /// All statements, in an order in which none undoes another.
  var commands: [PostgresCommand] {
    var commands: [PostgresCommand] = []
    if !clients.isEmpty { commands.append(insertClients) }
    if !lanes.isEmpty { commands.append(insertLanes) }
    if !numbers.isEmpty { commands += updateLanes }
    if !gaps.isEmpty { commands += replaceGaps }
    if !moves.isEmpty { commands += move }
    if !inserts.isEmpty { commands += insertEnvelopes }
    if !movedInserts.isEmpty {
      commands.append(insertMoved(movedInserts.map { ($0.key, $0.value) }))
    }
    if !sequences.isEmpty { commands.append(putSequences) }
    if !emptied.isEmpty { commands.append(deleteSequences) }
    if !keys.isEmpty { commands.append(putKeys) }
    if !formerKeys.isEmpty { commands.append(insertFormerKeys) }
    for (serial, through) in forgottenKeys { commands += forgetKeys(of: serial, through: through) }
    if !names.isEmpty { commands.append(putNames) }
    for plan in replaces.values { commands += replace(plan) }
    commands += paused.map { PostgresCommand.pause($0, true) }
    return commands
  }

  // MARK: - Names

  private var insertClients: PostgresCommand {
    PostgresCommand(
      "INSERT INTO client SELECT * FROM unnest($1, $2, $3)",
      [
        .int64s(clients.map(\.number.rawValue)),
        .int32s(clients.map { Int32(Shard.of(client: $0.name)) }), .texts(clients.map(\.name)),
      ])
  }

  private var insertLanes: PostgresCommand {
    PostgresCommand(
      "INSERT INTO lane (number, client, name) SELECT * FROM unnest($1, $2, $3)",
      [
        .int64s(lanes.map(\.number.rawValue)), .int64s(lanes.map(\.client.rawValue)),
        .texts(lanes.map(\.name)),
      ])
  }

  private var putNames: PostgresCommand {
    PostgresCommand(
      """
      INSERT INTO name_index SELECT * FROM unnest($1, $2, $3)
      ON CONFLICT (lane, name) DO UPDATE SET serial = excluded.serial
      """,
      [
        .int64s(names.keys.map(\.lane.rawValue)), .texts(names.keys.map(\.name)),
        .int64s(Array(names.values)),
      ])
  }

  // MARK: - Numbers of lanes

  private var updateLanes: [PostgresCommand] {
    let changed = Array(numbers)
    var commands = [
      PostgresCommand(
        """
        UPDATE lane SET last_sequence = coalesce(new.highest, last_sequence),
          placed_through = CASE WHEN new.is_placed THEN new.placed ELSE placed_through END
        FROM unnest($1, $2, $3, $4) AS new(lane, highest, is_placed, placed)
        WHERE number = new.lane
        """,
        [
          .int64s(changed.map(\.key.rawValue)), .int64s(changed.map(\.value.highest)),
          .bools(changed.map { $0.value.placedThrough != nil }),
          .int64s(changed.map { $0.value.placedThrough ?? nil }),
        ])
    ]
    let skips = changed.filter { $0.value.skipsBelow != nil }
    if !skips.isEmpty {
      commands.append(
        PostgresCommand(
          """
          UPDATE gap SET is_skipped = true FROM unnest($1, $2) AS skip(lane, below)
          WHERE gap.lane = skip.lane AND gap.first < skip.below AND NOT is_skipped
          """,
          [.int64s(skips.map(\.key.rawValue)), .int64s(skips.map(\.value.skipsBelow))]))
    }
    return commands
  }

  private var replaceGaps: [PostgresCommand] {
    let places = Array(gaps.keys)
    let left = gaps.compactMap { place, gap in gap.map { (place.lane, $0) } }
    return [
      PostgresCommand(
        """
        DELETE FROM gap USING unnest($1, $2) AS old(lane, first)
        WHERE gap.lane = old.lane AND gap.first = old.first
        """,
        [.int64s(places.map(\.lane.rawValue)), .int64s(places.map(\.number))]),
      PostgresCommand(
        "INSERT INTO gap SELECT * FROM unnest($1, $2, $3, $4)",
        [
          .int64s(left.map(\.0.rawValue)), .int64s(left.map(\.1.range.first)),
          .int64s(left.map(\.1.range.last)), .bools(left.map(\.1.isSkipped)),
        ]),
    ]
  }

  private var putSequences: PostgresCommand {
    PostgresCommand(
      """
      INSERT INTO sequence_index SELECT * FROM unnest($1, $2, $3)
      ON CONFLICT (lane, number) DO UPDATE SET serial = excluded.serial
      """,
      [
        .int64s(sequences.keys.map(\.lane.rawValue)), .int64s(sequences.keys.map(\.number)),
        .int64s(Array(sequences.values)),
      ])
  }

  private var deleteSequences: PostgresCommand {
    PostgresCommand(
      """
      DELETE FROM sequence_index AS taken USING unnest($1, $2) AS old(lane, number)
      WHERE taken.lane = old.lane AND taken.number = old.number
      """,
      [.int64s(emptied.map(\.lane.rawValue)), .int64s(emptied.map(\.number))])
  }

  // MARK: - Keys

  private var putKeys: PostgresCommand {
    PostgresCommand(
      """
      INSERT INTO key_index SELECT * FROM unnest($1, $2, $3, $4)
      ON CONFLICT (client, key) DO UPDATE
      SET serial = excluded.serial, fingerprint = excluded.fingerprint
      """,
      [
        .int64s(keys.keys.map(\.client.rawValue)), .texts(keys.keys.map(\.key)),
        .int64s(keys.values.map(\.serial)), .byteStrings(keys.values.map(\.fingerprint)),
      ])
  }

  private var insertFormerKeys: PostgresCommand {
    PostgresCommand(
      "INSERT INTO former_key SELECT * FROM unnest($1, $2, $3, $4)",
      [
        .int64s(formerKeys.map(\.serial)), .int64s(formerKeys.map(\.revision)),
        .int64s(formerKeys.map(\.key.client.rawValue)), .texts(formerKeys.map(\.key.key)),
      ])
  }

  private func forgetKeys(of serial: Serial, through revision: Int64) -> [PostgresCommand] {
    let values: [PostgresValue] = [.int64(serial), .int64(revision)]
    return [
      PostgresCommand(
        """
        DELETE FROM key_index USING former_key AS former
        WHERE former.serial = $1 AND former.revision <= $2
          AND key_index.client = former.client AND key_index.key = former.key
        """, values),
      PostgresCommand("DELETE FROM former_key WHERE serial = $1 AND revision <= $2", values),
    ]
  }
}

extension PostgresCommand {
  /// Begins or ends a pause.
  static func pause(_ target: PauseTarget, _ isPaused: Bool) -> PostgresCommand {
    guard isPaused else {
      return PostgresCommand(
        "DELETE FROM paused WHERE kind = $1 AND number = $2", target.values)
    }
    return PostgresCommand(
      "INSERT INTO paused VALUES ($1, $2) ON CONFLICT DO NOTHING", target.values)
  }

  /// Asks for a row if something is paused.
  static func findPause(_ target: PauseTarget) -> PostgresCommand {
    PostgresCommand("SELECT 1 FROM paused WHERE kind = $1 AND number = $2", target.values)
  }
}

extension PauseTarget {
  /// Its kind and its number, as they are stored.
  fileprivate var values: [PostgresValue] {
    let (kind, number): (Int16, Int64) =
      switch self {
      case .upstream(let upstream): (0, Int64(upstream.rawValue))
      case .client(let client): (1, client.rawValue)
      case .lane(let lane): (2, lane.rawValue)
      }
    return [.int16(kind), .int64(number)]
  }
}
#endif

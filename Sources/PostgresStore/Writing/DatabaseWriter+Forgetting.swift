#if PostgreSQL
import Postgres
import RelayCore
import Synchronization

// Forgetting names that nothing refers to any more; see ``NameWalk``.
extension DatabaseWriter {
  /// Begins to note which names of the next range are used.
  ///
  /// - Returns: The range; nil if there is none.
  func watchNames(
    _ kind: NameWalk.Kind, after number: Int64
  ) throws(StoreError) -> ClosedRange<Int64>? {
    nameWatch = nil
    let end = kind == .lanes ? given.lastLane : given.lastClient
    guard number < end else { return nil }
    // From here on the lanes' rows include everything that has ended or was deleted so far.
    if kind == .lanes { try write([.addUpEnds], shards: []) }
    let stretch = number + 1...min(end, number + NumberBits.spanMax)
    nameWatch = NameWatch(kind, stretch)
    return stretch
  }

  /// Forgets those of some names that have not been used since ``watchNames(_:after:)``.
  ///
  /// - Returns: The number of forgotten names.
  func forget(_ kind: NameWalk.Kind, _ numbers: [Int64]) throws(StoreError) -> Int {
    guard let watch = nameWatch, watch.kind == kind else { return 0 }
    let unused = numbers.filter { watch.unused.contains($0) }
    guard !unused.isEmpty else { return 0 }
    let (forgotten, shards) = try forgettable(kind, unused)
    guard !forgotten.isEmpty else { return 0 }
    let (before, count) = (given, Int64(forgotten.count))
    switch kind {
    case .lanes: given.names.lanes -= count
    case .clients: given.names.clients -= count
    }
    do throws(StoreError) {
      try write(PostgresCommand.forget(kind, forgotten), shards: shards)
    } catch {
      given = before
      throw error
    }
    knownNames.removeAll()
    var commit = Commit()
    if kind == .clients {
      for number in forgotten { checkingIn.remove(ClientNumber(rawValue: number)) }
      commit.hasForgottenClients = true
    }
    let given = given
    shared.figures.withLock { $0.given = given }
    tell(commit)
    return forgotten.count
  }

  /// Those of some names that are still not referred to, and their shards.
  ///
  /// Without its row, a name that starts paused, and was resumed, would be paused again.
  private func forgettable(
    _ kind: NameWalk.Kind, _ numbers: [Int64]
  ) throws(StoreError) -> (numbers: [Int64], shards: Set<Int>) {
    let rows = try read([.forgettable(kind, numbers)])[0]
    var (forgotten, shards): ([Int64], Set<Int>) = ([], [])
    for row in 0..<rows.count {
      let client = rows.text(row, 1)
      let name: PauseName =
        switch kind {
        case .lanes: .lane(LaneName(client: client, lane: rows.text(row, 3)))
        case .clients: .client(client)
        }
      guard !shared.startsPaused(name) else { continue }
      forgotten.append(rows.int64(row, 0))
      shards.insert(Int(rows.int32(row, 2)))
    }
    return (forgotten, shards)
  }
}

extension PostgresCommand {
  /// Asks which of some names may be forgotten, as far as rows tell.
  ///
  /// Columns: number, client's name, shard; for lanes, the lane's name.
  fileprivate static func forgettable(
    _ kind: NameWalk.Kind, _ numbers: [Int64]
  ) -> PostgresCommand {
    let sql =
      switch kind {
      // What has ended since the counts were added up stands in the log.
      case .lanes:
        """
        SELECT lane.number, client.name, client.shard, lane.name
        FROM lane JOIN client ON client.number = lane.client
        WHERE lane.number = ANY($1) AND \(UnusedNames.lane)
          AND NOT EXISTS (SELECT 1 FROM paused WHERE kind = 2 AND paused.number = lane.number)
          AND lane.number <> ALL (
            SELECT ended.lane FROM ended_log, unnest(lanes) AS ended(lane))
        """
      case .clients:
        """
        SELECT number, name, shard FROM client
        WHERE number = ANY($1) AND \(UnusedNames.client)
          AND NOT EXISTS (SELECT 1 FROM paused WHERE kind = 1 AND paused.number = client.number)
        """
      }
    return PostgresCommand(sql: sql, [.int64s(numbers)])
  }

  fileprivate static func forget(
    _ kind: NameWalk.Kind, _ numbers: [Int64]
  ) -> [PostgresCommand] {
    let values: [PostgresValue] = [.int64s(numbers)]
    return switch kind {
    case .lanes: [PostgresCommand("DELETE FROM lane WHERE number = ANY($1)", values)]
    case .clients:
      [
        PostgresCommand("DELETE FROM checks_in WHERE client = ANY($1)", values),
        PostgresCommand("DELETE FROM client WHERE number = ANY($1)", values),
      ]
    }
  }
}
#endif

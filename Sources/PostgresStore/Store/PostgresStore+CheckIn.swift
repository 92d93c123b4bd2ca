#if PostgreSQL
import RelayCore

// What clients are told of what has ended.
extension PostgresStore {
  /// See ``EnvelopeStore``.
  package func checkIn(
    _ name: String, seenThrough number: EndingNumber, countMax: Int
  ) async throws(StoreError) -> CheckInPage? {
    let standing = try await read { reader throws(StoreError) in
      try reader.checkInStanding(of: name, seenThrough: number)
    }
    guard let standing else { return nil }
    // A number that was never given out says nothing of what its owner has seen.
    let seen = number <= standing.lastEnding ? number : 0
    if !standing.isFilled { try await beginCheckIns(of: standing) }
    if standing.hasSeen, seen > 0 {
      try await write { writer throws(StoreError) in
        try writer.forgetEndings(of: standing.client, shard: standing.shard, through: seen)
      }
    }
    return try await read { reader throws(StoreError) in
      try reader.endings(of: standing.client, after: seen, countMax: countMax)
    }
  }

  /// The first time: first endings are kept from now on, and then those are looked up that were
  /// there before, so that none is missed in between.
  private func beginCheckIns(of standing: CheckInStanding) async throws(StoreError) {
    try await write { writer throws(StoreError) in
      try writer.registerCheckIn(of: standing.client, shard: standing.shard)
    }
    let ended = try await read { reader throws(StoreError) in
      try reader.recentlyEnded(of: standing.client)
    }
    try await write { writer throws(StoreError) in
      try writer.fill(ended, endedOf: standing.client, shard: standing.shard)
    }
  }
}
#endif

#if PostgreSQL
import RelayCore

/// How many envelopes there are, by what became of them.
struct StoreCounts: Sendable, Equatable {
  var standing: [Standing: Int64] = [:]
  var ended: [EnvelopeState: Int64] = [:]
  /// The size of all bodies, headers and targets.
  var contentBytes: Int64 = 0
}

/// What the store counts and each transaction keeps, so that the next start need not count: many
/// millions of rows may have ended.
///
/// It stands in the seat's own row, which each transaction writes anyway.
struct KeptCounts: Sendable, Equatable {
  var counts = StoreCounts()
  var names = NameCounts()
  var latestTime = WallTime(millisecondsSinceEpoch: 0)

  /// The numbers as they are stored, in an order that does not change.
  var stored: [Int64] {
    [counts.contentBytes, names.clients, names.lanes, latestTime.millisecondsSinceEpoch]
      + Standing.allCases.map { counts.standing[$0] ?? 0 }
      + EnvelopeState.ends.map { counts.ended[$0] ?? 0 }
  }

  /// Counts.
  init(_ counts: StoreCounts, _ given: GivenNumbers) {
    (self.counts, names, latestTime) = (counts, given.names, given.latestTime)
  }

  /// Reads ``stored``; nil for what no relay of this kind has written.
  init?(stored: [Int64]) {
    let (standings, ends) = (Standing.allCases, EnvelopeState.ends)
    guard stored.count == 4 + standings.count + ends.count else { return nil }
    counts.contentBytes = stored[0]
    (names.clients, names.lanes) = (stored[1], stored[2])
    latestTime = WallTime(millisecondsSinceEpoch: stored[3])
    for (standing, count) in zip(standings, stored[4...]) { counts.standing[standing] = count }
    for (end, count) in zip(ends, stored[(4 + standings.count)...]) { counts.ended[end] = count }
  }
}
#endif

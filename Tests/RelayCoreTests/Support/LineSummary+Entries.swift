@testable import RelayCore

extension LineSummary {
  /// Counts entries as a store does, each of 10 bytes.
  init(of entries: some Sequence<LineEntry>) {
    self.init()
    for entry in entries {
      let wasAttempted = entry.attempts > 0 || entry.isInDoubt
      count(
        Place(
          serial: entry.serial, lane: entry.lane, upstream: entry.upstream,
          expiresAt: entry.expiresAt, standing: entry.standing, bytes: 10,
          backoff: wasAttempted ? entry.dueAt : nil),
        of: entry.client, acceptedAt: entry.acceptedAt)
    }
  }

  /// The share of a lane.
  func share(of lane: Int64) -> LaneShare? { shares.first { $0.lane.rawValue == lane } }
}

extension Scheduler {
  /// Takes up the rest of a line as a relay does, without reading it all.
  mutating func restore(
    counted rest: some Collection<LineEntry>, latest: Set<LaneNumber>
  ) {
    let summary = LineSummary(of: rest)
    let wanted = Set(headsWanted(of: summary, latest: latest))
    restore(summary, heads: rest.filter { wanted.contains($0.serial) }, latest: latest)
  }
}

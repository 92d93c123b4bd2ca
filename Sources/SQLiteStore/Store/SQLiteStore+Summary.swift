import RelayCore
import SQLite
import SQLitePages
import Synchronization

/// A stretch of the line, by numbers.
struct LineStretch: Sendable, Equatable {
  /// The number that it begins behind.
  var after: Serial
  /// The last number that may be in it.
  var through: Serial

  /// Whether no number can be in it.
  var isEmpty: Bool { after >= through }

  /// The same in two parts that are as long, of which one may be empty.
  var halves: [LineStretch] {
    let middle = after + (through - after) / 2
    return [
      LineStretch(after: after, through: middle), LineStretch(after: middle, through: through),
    ]
  }
}

// A start counts what stands behind the scheduler's windows. All readers do so at once, each a
// stretch of its own. How many envelopes wait in a stretch is not known before: most numbers may
// have ended long ago. So each is left after so many, and what is left of it is cut in two.
extension SQLiteStore {
  /// See ``EnvelopeStore``.
  package func lineSummary(after serial: Serial) async throws(StoreError) -> LineSummary {
    try await lineSummary(after: serial, stepMax: StoreTuning.countedPerStep)
  }

  /// The same, with so many envelopes counted in one step.
  func lineSummary(
    after serial: Serial, stepMax: Int
  ) async throws(StoreError) -> LineSummary {
    let end = try await read { reader throws(StoreError) in try reader.lastSerial() }
    // While the others count. It is a hint: what it comes to does not matter.
    async let isAnnounced: Void? = try? read(on: lineReads) { [shared] reader throws(StoreError) in
      guard let forecast = try reader.forecastOfLine(after: serial) else { return }
      shared.openedBeside.withLock { $0.append(forecast.file) }
      forecast.announce()
    }
    let summary = try await count(
      LineStretch(after: serial, through: end).halves, stepMax: stepMax)
    _ = await isAnnounced
    return summary
  }

  private func count(
    _ stretches: [LineStretch], stepMax: Int
  ) async throws(StoreError) -> LineSummary {
    try await withTaskGroup(
      of: Result<Reader.CountedStretch, StoreError>.self,
      returning: Result<LineSummary, StoreError>.self
    ) { group in
      var summary = LineSummary()
      var open = stretches
      while true {
        for stretch in open where !stretch.isEmpty {
          group.addTask { await self.count(stretch, countMax: stepMax) }
        }
        switch await group.next() {
        case .success(let counted):
          summary.add(counted.summary)
          open = counted.rest?.halves ?? []
        // The others come to nothing as well, or are not wanted any more.
        case .failure(let error): return .failure(error)
        case nil: return .success(summary)
        }
      }
    }.get()
  }

  private func count(
    _ stretch: LineStretch, countMax: Int
  ) async -> Result<Reader.CountedStretch, StoreError> {
    do throws(StoreError) {
      return .success(
        try await read { reader throws(StoreError) in
          try reader.count(stretch, countMax: countMax)
        })
    } catch {
      return .failure(error)
    }
  }
}

extension Reader {
  /// The counts so far, and the rest of the line.
  struct CountedStretch: Sendable {
    var summary = LineSummary()
    /// nil once all is counted.
    var rest: LineStretch?
  }

  /// Counts what waits in a stretch of the line, up to so many.
  func count(_ stretch: LineStretch, countMax: Int) throws(StoreError) -> CountedStretch {
    try snapshot { () throws(StoreError) -> CountedStretch in
      var counted = CountedStretch()
      sql.lineCounted.set(stretch.after, stretch.through, countMax)
      var last = stretch.after
      var count = 0
      while try sql.lineCounted.step() {
        let place = try place(sql.lineCounted)
        counted.summary.count(
          place, of: sql.lineCounted.client(7),
          acceptedAt: sql.lineCounted.time(8))
        last = place.serial
        count += 1
      }
      if count == countMax {
        counted.rest = LineStretch(after: last, through: stretch.through)
      }
      return counted
    }
  }

  /// Which pages hold the line from behind a number.
  func forecastOfLine(after serial: Serial) throws(StoreError) -> PageForecast? {
    let root = try connection.number(
      "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'line'")
    return try PageForecast(
      of: connection.path, root: Int(root),
      pageBytes: Int(try connection.number("PRAGMA page_size")), after: serial)
  }

  private func place(_ row: borrowing Statement) throws(StoreError) -> LineSummary.Place {
    LineSummary.Place(
      serial: row.int(0), lane: row.lane(1),
      upstream: row.upstream(2),
      expiresAt: row.time(3),
      standing: try row.standing(4), bytes: row.int(5),
      backoff: row.optionalTime(6))
  }
}

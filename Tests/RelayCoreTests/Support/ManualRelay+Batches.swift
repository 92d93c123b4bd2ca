@testable import RelayCore

// Envelopes that go together.
extension ManualRelay {
  /// Ends a request with several envelopes, by a status for each or by one for all.
  mutating func answer(_ serials: [Serial], statuses: [Int]) {
    inFlight.removeAll { serials.contains($0.serial) }
    let reports = serials.enumerated().map { index, serial in
      let status = statuses.count == 1 ? statuses[0] : statuses[index]
      return AttemptReport(
        serial: serial,
        event: .answered(UpstreamResponse(status: status, headers: HeaderBlock(), body: [])),
        startedAt: clock.wall, durationMs: 1, isWritten: true)
    }
    scheduler.batchEnded(reports, subject: statuses.count == 1 ? .whole : .each, now: clock)
    take()
  }

  /// Ends a request whose answer has results that do not fit its envelopes.
  mutating func answerUnreadably(_ serials: [Serial]) {
    inFlight.removeAll { serials.contains($0.serial) }
    let reports = serials.map { serial in
      AttemptReport(
        serial: serial, event: .failed(.malformedResponse, detail: "too few"),
        startedAt: clock.wall, durationMs: 1, isWritten: true)
    }
    scheduler.batchEnded(reports, subject: .unreadable, now: clock)
    take()
  }

  /// Some of those that were to go together do not.
  mutating func leaveOut(alone: [Serial] = [], left: [Serial] = []) {
    inFlight.removeAll { alone.contains($0.serial) || left.contains($0.serial) }
    scheduler.leftOut(alone: alone, left: left, now: clock)
    take()
  }
}

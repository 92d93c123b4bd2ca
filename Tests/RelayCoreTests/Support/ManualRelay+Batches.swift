@testable import RelayCore

// Envelopes that go together.
extension ManualRelay {
  /// How large requests with several envelopes might be.
  struct BatchSizes {
    /// The most bytes of each, in the order in which they began.
    var bytesMax: [Int?] = []
    /// The limits to which they were lowered.
    var lowered: [Int] = []
  }

  /// The scheduler asks for a request with several envelopes.
  mutating func goTogether(_ entries: [LineEntry], _ bytesMax: Int?) {
    batchSizes.bytesMax.append(bytesMax)
    together.append(entries.map(\.serial))
    attempted += entries.map(\.serial)
    inFlight += entries
  }

  /// Ends a request with several envelopes, by a status for each or by one for all.
  mutating func answer(
    _ serials: [Serial], statuses: [Int], subject: BatchAnswerSubject? = nil,
    ofReplaced isOfReplaced: Bool = false
  ) {
    inFlight.removeAll { serials.contains($0.serial) }
    let reports = serials.enumerated().map { index, serial in
      let status = statuses.count == 1 ? statuses[0] : statuses[index]
      return AttemptReport(
        serial: serial,
        event: .answered(UpstreamResponse(status: status, headers: HeaderBlock(), body: [])),
        startedAt: clock.wall, durationMs: 1, isWritten: true)
    }
    scheduler.batchEnded(
      reports, subject: subject ?? (statuses.count == 1 ? .whole : .each),
      bytes: isOfReplaced ? nil : serials.count * Self.bytesEach, now: clock)
    take()
  }

  /// The bytes of an envelope in a request with several.
  static let bytesEach = 100

  /// Ends a request whose answer has results that do not fit its envelopes.
  mutating func answerUnreadably(_ serials: [Serial], isUnsettled: Bool = false) {
    inFlight.removeAll { serials.contains($0.serial) }
    let reports = serials.map { serial in
      var report = AttemptReport(
        serial: serial, event: .failed(.malformedResponse, detail: "too few"),
        startedAt: clock.wall, durationMs: 1, isWritten: true)
      report.isUnsettled = isUnsettled
      return report
    }
    scheduler.batchEnded(
      reports, subject: .unreadable, bytes: serials.count * Self.bytesEach, now: clock)
    take()
  }

  /// Some of those that were to go together do not.
  mutating func leaveOut(alone: [Serial] = [], left: [Serial] = []) {
    inFlight.removeAll { alone.contains($0.serial) || left.contains($0.serial) }
    scheduler.leftOut(alone: alone, left: left, now: clock)
    take()
  }
}

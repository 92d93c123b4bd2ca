import Forwarder
import RelayCore

// What the log says of attempts, and of what is done to those that have ended, each by its id; what
// is committed is told by `EnvelopeLog+Commits`.
//
// Each is told before the scheduler hears of it, so that what follows from it stands behind it.
extension Dispatcher {
  /// Attempts begin.
  ///
  /// - Parameter key: The `Idempotency-Key` of the request that carries all of them; nil if each
  ///   has one of its own.
  func tell(attempts: [AttemptRequest], togetherAs key: String? = nil) {
    guard log.isOn(.debug) else { return }
    stories.tell(
      attempts.map { attempt in
        var line = EnvelopeLog.Line(
          .id(attempt.id), .debug,
          attempt.isVerification
            ? "upstream is asked whether it has the envelope" : "envelope is attempted",
          ("attempt", .integer(Int64(attempt.attempt))))
        if let key { line.fields.append(("batch", .text(key))) }
        return line
      })
  }

  /// Attempts were called off: they count for nothing, and begin anew some time.
  func tell(calledOff serials: [Serial]) {
    guard !serials.isEmpty, log.isOn(.debug) else { return }
    stories.tell(
      serials.map { EnvelopeLog.Line(.serial($0), .debug, "envelope's attempt was called off") })
  }

  /// An envelope that has ended, and stays so, was corrected or cancelled.
  func tell(ended id: EnvelopeID, _ command: SteeringCommand) {
    switch command {
    case .edit:
      stories.tell(
        EnvelopeLog.Line(.id(id), .debug, "envelope was corrected", ("ended", "true")))
    case .cancel(let reason):
      stories.tell(
        EnvelopeLog.Line(
          .id(id), .debug, "envelope ended", ("state", "cancelled"), ("reason", .text(reason))))
    case .run, .retry, .discard, .requeue: break
    }
  }
}

extension AttemptBatch {
  /// Those of which nothing came, since the relay called them off.
  var calledOff: [Serial] {
    withdrawn
      + reports.compactMap { report in
        if case .failed(.brokenOff, _) = report.event { report.serial } else { nil }
      }
  }
}

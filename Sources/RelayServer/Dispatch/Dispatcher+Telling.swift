import Forwarder
import RelayCore

// What the log says of envelopes, each by its id: what went wrong always, and all of its life at
// the level `debug`, so that one can be followed from its acceptance to its end. Where that level
// is off, what goes well costs nothing.
//
// Each is told before the scheduler hears of it, so that what follows from it stands behind it.
extension Dispatcher {
  /// Envelopes were accepted, or were parked and stand in line now.
  func tell(_ envelopes: [AcceptedEnvelope]) {
    guard log.isOn(.debug) else { return }
    stories.tell(
      envelopes.map { envelope in
        guard let draft = envelope.draft, envelope.movedFrom == nil else {
          return EnvelopeLog.Line(.id(envelope.id), .debug, "envelope stands in line")
        }
        return EnvelopeLog.Line(
          .id(envelope.id), .debug, "envelope was accepted", ("client", .text(draft.client)),
          ("lane", .text(draft.lane)), ("upstream", .text(draft.upstream)),
          ("state", .text(envelope.entry.standing.state.rawValue)))
      })
  }

  /// Envelopes that wait have got later posts' content.
  func tell(_ envelopes: [CoalescedEnvelope]) {
    guard log.isOn(.debug) else { return }
    stories.tell(
      envelopes.map { envelope in
        EnvelopeLog.Line(
          .id(envelope.id), .debug, "envelope got a later post's content",
          ("revision", .integer(envelope.revision)))
      })
  }

  /// Attempts begin.
  func tell(attempts: [AttemptRequest]) {
    guard log.isOn(.debug) else { return }
    stories.tell(
      attempts.map { attempt in
        EnvelopeLog.Line(
          .id(attempt.id), .debug,
          attempt.isVerification
            ? "upstream is asked whether it has the envelope" : "envelope is attempted",
          ("attempt", .integer(Int64(attempt.attempt))))
      })
  }

  /// Attempts were called off: they count for nothing, and begin anew some time.
  func tell(calledOff serials: [Serial]) {
    guard !serials.isEmpty, log.isOn(.debug) else { return }
    stories.tell(
      serials.map { EnvelopeLog.Line(.serial($0), .debug, "envelope's attempt was called off") })
  }

  /// A client's backlog was cancelled.
  func tell(_ backlog: ClearedBacklog) {
    guard log.isOn(.debug) else { return }
    stories.tell(
      backlog.items.map { item in
        EnvelopeLog.Line(
          .serial(item.serial), .debug, "envelope ended", ("state", "cancelled"),
          ("reason", "all that waited of its client was cancelled"))
      })
  }

  /// Changes are on disk.
  func tell(_ transitions: some Sequence<Transition>) {
    let isEverythingTold = log.isOn(.debug)
    let lines = transitions.compactMap { transition in
      isEverythingTold || transition.isTrouble ? EnvelopeLog.Line(transition) : nil
    }
    if !lines.isEmpty { stories.tell(lines) }
  }

  /// An envelope that has ended, and stays so, was corrected or cancelled.
  func tell(ended id: EnvelopeID, _ command: Command) {
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

extension EnvelopeLog.Line {
  /// What is told of a change; nil for nothing.
  fileprivate init?(_ transition: Transition) {
    let subject = Subject.serial(transition.serial)
    switch transition.change {
    case .end(.failed, let reason), .end(.expired, let reason):
      self.init(subject, .warning, "envelope ended undelivered", ("reason", .text(reason)))
    case .block(let reason):
      self.init(subject, .warning, "lane is blocked", ("reason", .text(reason)))
    case .end(.delivered, _): self.init(subject, .debug, "envelope was delivered")
    case .end(let state, let reason):
      self.init(
        subject, .debug, "envelope ended", ("state", .text(state.rawValue)),
        ("reason", .text(reason)))
    case .retry(let time):
      self.init(
        subject, .debug, "envelope is to be tried again", ("at", .text(RFC3339.format(time))))
    case .begin: return nil
    case .release: self.init(subject, .debug, "envelope was run")
    case .edit: self.init(subject, .debug, "envelope was corrected")
    case .requeue: self.init(subject, .debug, "envelope was put back in line")
    }
    if case .end(let state, _) = transition.change, state == .failed || state == .expired {
      fields.insert(("state", .text(state.rawValue)), at: 0)
    }
    if let attempt = transition.attempt { fields += attempt.told }
  }
}

extension AttemptRecord {
  /// What the log says of it.
  fileprivate var told: [Log.Field] {
    var fields: [Log.Field] = [
      ("attempt", .integer(Int64(number))), ("outcome", .text(outcome.rawValue)),
      ("durationMs", .integer(durationMs)),
    ]
    if let status { fields.append(("status", .integer(Int64(status)))) }
    if let error { fields.append(("error", .text(error))) }
    return fields
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

extension Transition {
  /// Whether an operator should hear of it, whatever the log's level.
  fileprivate var isTrouble: Bool {
    switch change {
    case .end(.failed, _), .end(.expired, _), .block: true
    case .end, .begin, .retry, .release, .edit, .requeue: false
    }
  }
}

import RelayCore

// What the log says of commits: of envelopes, each by its id, what went wrong always, and all of
// its life at the level `debug`, so that one can be followed from its acceptance to its end. Where
// that level is off, what goes well costs nothing.
extension EnvelopeLog: CommitListener {
  /// Has lines written of it, before those of what follows from it.
  func committed(_ commit: Commit, at now: Now) {
    if let damage = commit.damage { tell(damage) }
    for change in commit.changes {
      switch change {
      case .changed(let transitions): tell(transitions)
      case .unwritten(let transitions): tell(transitions.map { EnvelopeLog.Line(unwritten: $0) })
      case .coalesced(let envelopes): tell(envelopes)
      case .accepted(let envelopes): tell(envelopes)
      case .cleared(let backlog): tell(backlog)
      // Who steers an envelope that has ended tells of it.
      case .endsChanged: break
      }
    }
  }

  /// Envelopes were accepted, or were parked and stand in line now.
  private func tell(_ envelopes: [AcceptedEnvelope]) {
    guard isOn(.debug) else { return }
    tell(
      envelopes.map { envelope in
        guard let draft = envelope.draft, envelope.movedFrom == nil else {
          return EnvelopeLog.Line(.id(envelope.id), .debug, "envelope stands in line")
        }
        return EnvelopeLog.Line(
          .id(envelope.id), at: Self.place(of: draft), .debug, "envelope was accepted",
          ("state", .text(envelope.entry.standing.state.rawValue)))
      })
  }

  private static func place(of draft: EnvelopeDraft) -> Line.Place {
    Line.Place(client: draft.client, lane: draft.lane, upstream: draft.upstream)
  }

  /// Envelopes that wait have got later posts' content.
  private func tell(_ envelopes: [CoalescedEnvelope]) {
    guard isOn(.debug) else { return }
    tell(
      envelopes.map { envelope in
        EnvelopeLog.Line(
          .id(envelope.id), at: Self.place(of: envelope.draft), .debug,
          "envelope got a later post's content", ("revision", .integer(envelope.revision)))
      })
  }

  /// A client's backlog was cancelled.
  private func tell(_ backlog: ClearedBacklog) {
    guard isOn(.debug) else { return }
    tell(
      backlog.items.map { item in
        EnvelopeLog.Line(
          .serial(item.serial), .debug, "envelope ended", ("state", "cancelled"),
          ("reason", "it was cancelled with others of its client"))
      })
  }

  /// Changes are on disk; one that came to nothing is no news of its envelope.
  private func tell(_ transitions: [Transition]) {
    let isEverythingTold = isOn(.debug)
    let lines = transitions.compactMap { transition in
      !transition.isMoot && (isEverythingTold || transition.isTrouble)
        ? EnvelopeLog.Line(transition) : nil
    }
    if !lines.isEmpty { tell(lines) }
  }

  /// The store goes on without a part of it, which is told once.
  private func tell(_ damage: StoreDamage) {
    let parts = StoreDamage.Part.allCases.filter(damage.leftOut.contains).map(\.rawValue)
    log.error(
      "the store is damaged, and goes on without a part of it",
      ("leftOut", .text(parts.joined(separator: ", "))), ("error", .text(damage.last ?? "")))
  }
}

extension EnvelopeLog.Line {
  /// The line for a change that could not be written.
  fileprivate init(unwritten transition: Transition) {
    let change = transition.isEvent ? EventEntry(transition).kind.rawValue : "attempt"
    self.init(
      .serial(transition.serial), .error,
      "the store is damaged, and a change of an envelope could not be written",
      ("change", .text(change)))
  }

  /// The line for a change; nil for none.
  fileprivate init?(_ transition: Transition) {
    let subject = Subject.serial(transition.serial)
    var reason: String?
    switch transition.change {
    case .end(.failed, let why), .end(.expired, let why):
      reason = why
      self.init(subject, .warning, "envelope ended undelivered", ("reason", .text(why)))
    case .block(let why):
      reason = why
      self.init(subject, .warning, "lane is blocked", ("reason", .text(why)))
    case .end(.delivered, _): self.init(subject, .debug, "envelope was delivered")
    case .end(let state, let why):
      reason = why
      self.init(
        subject, .debug, "envelope ended", ("state", .text(state.rawValue)), ("reason", .text(why)))
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
    if let attempt = transition.attempt { fields += attempt.told(besides: reason) }
  }
}

extension AttemptRecord {
  /// Its fields in the log.
  ///
  /// - Parameter reason: The line's reason, which may say already what went wrong.
  fileprivate func told(besides reason: String?) -> [Log.Field] {
    var fields: [Log.Field] = [
      ("attempt", .integer(Int64(number))), ("outcome", .text(outcome.rawValue)),
      ("durationMs", .integer(durationMs)),
    ]
    if let status { fields.append(("status", .integer(Int64(status)))) }
    if let error, reason?.contains(error) != true { fields.append(("error", .text(error))) }
    return fields
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

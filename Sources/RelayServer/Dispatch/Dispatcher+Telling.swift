import RelayCore

// What the log says of envelopes, each by its id: what went wrong always, and all of its life at
// the level `debug`, so that one can be followed from its acceptance to its end. Where that level
// is off, what goes well costs nothing.
extension Dispatcher {
  /// Envelopes were accepted, or were parked and stand in line now.
  func tell(_ envelopes: [AcceptedEnvelope]) {
    guard log.isOn(.debug) else { return }
    for envelope in envelopes {
      let id = Log.Value.text("\(envelope.id)")
      guard let draft = envelope.draft, envelope.movedFrom == nil else {
        log.debug("envelope stands in line", ("envelope", id))
        continue
      }
      log.debug(
        "envelope was accepted", ("envelope", id), ("client", .text(draft.client)),
        ("lane", .text(draft.lane)), ("upstream", .text(draft.upstream)),
        ("state", .text(envelope.entry.standing.state.rawValue)))
    }
  }

  /// An envelope that waits has got a later post's content.
  func tell(_ envelope: CoalescedEnvelope) {
    guard log.isOn(.debug) else { return }
    log.debug(
      "envelope got a later post's content", ("envelope", .text("\(envelope.id)")),
      ("revision", .integer(envelope.revision)))
  }

  /// An attempt begins.
  func tell(attempt number: Int32, of id: EnvelopeID) {
    guard log.isOn(.debug) else { return }
    log.debug(
      "envelope is attempted", ("envelope", .text("\(id)")), ("attempt", .integer(Int64(number))))
  }

  /// A client's backlog was cancelled.
  func tell(_ backlog: ClearedBacklog) {
    guard log.isOn(.debug), !log.isFull else { return }
    Task(executorPreference: loop) { [self] in
      let ids = try? await store.ids(of: backlog.items.map(\.serial))
      for item in backlog.items {
        log.debug(
          "envelope ended",
          ("envelope", .text(ids?[item.serial].map { "\($0)" } ?? Self.stand(in: item.serial))),
          ("state", "cancelled"), ("reason", "all that waited of its client was cancelled"))
      }
    }
  }

  /// Changes are on disk.
  ///
  /// A change has the store's number of its envelope, and the store is asked for the id: only for
  /// lines that will be written, which may come a moment after the next attempt's.
  func tell(_ transitions: some Sequence<Transition>) {
    let isEverythingTold = log.isOn(.debug)
    let told = transitions.filter { isEverythingTold || $0.isTrouble }
    guard !told.isEmpty else { return }
    guard !log.isFull else {
      for transition in told { write(transition, envelope: Self.stand(in: transition.serial)) }
      return
    }
    Task(executorPreference: loop) { [self] in
      let ids = try? await store.ids(of: told.map(\.serial))
      for transition in told {
        let id = ids?[transition.serial].map { "\($0)" }
        write(transition, envelope: id ?? Self.stand(in: transition.serial))
      }
    }
  }

  /// The envelope's id, in words where the store cannot say it.
  func shownID(of serial: Serial) async -> String {
    (try? await store.ids(of: [serial])[serial]).map { "\($0)" } ?? Self.stand(in: serial)
  }

  /// What stands for an id that is not known.
  private static func stand(in serial: Serial) -> String { "number \(serial) in the store" }

  private func write(_ transition: Transition, envelope id: String) {
    let envelope = Log.Value.text(id)
    switch transition.change {
    case .end(.failed, let reason), .end(.expired, let reason):
      log.warning(
        "envelope ended undelivered", ("envelope", envelope), ("reason", .text(reason)))
    case .block(let reason):
      log.warning("lane is blocked", ("envelope", envelope), ("reason", .text(reason)))
    case .end(.delivered, _):
      log.debug(
        "envelope was delivered", ("envelope", envelope),
        ("attempt", .integer(Int64(transition.attempt?.number ?? 0))),
        ("status", .integer(Int64(transition.attempt?.status ?? 0))))
    case .end(let state, let reason):
      log.debug(
        "envelope ended", ("envelope", envelope), ("state", .text(state.rawValue)),
        ("reason", .text(reason)))
    case .retry(let time):
      log.debug(
        "envelope is to be tried again", ("envelope", envelope),
        ("at", .text(RFC3339.format(time))), ("error", .text(transition.attempt?.error ?? "")))
    case .begin: break
    case .release: log.debug("envelope was run", ("envelope", envelope))
    case .edit: log.debug("envelope was corrected", ("envelope", envelope))
    case .requeue: log.debug("envelope was put back in line", ("envelope", envelope))
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

import Cryptography
import EventLoop
import Glibc
import RelayCore

extension Relay {
  /// Opens the store, takes up the line where it was left, binds the listeners, and
  /// begins to accept and to deliver.
  ///
  /// One that shares its store and has a listener for relays binds them first, and passes requests
  /// on to the relay that has the store until it has it itself.
  ///
  /// - Parameters:
  ///   - configuration: Checked already.
  ///   - loops: At least one; connections are spread over them.
  ///   - log: Where it logs.
  ///   - sockets: What the service manager has handed over.
  ///   - listening: Is told once that it listens.
  ///   - waiting: Is told what the start waits for, if its store is shared with other relays.
  /// - Throws: ``RelayStartError``; nothing is left behind then but the data folder. Also if the
  ///   task is cancelled while it waits for the store.
  package static func start(
    _ configuration: Configuration, loops: [EventLoop], log: Log,
    sockets: InheritedSockets = InheritedSockets(),
    listening: @escaping @Sendable (ListeningRelay) -> Void = { _ in },
    waiting: @escaping @Sendable (StoreWait) -> Void = { _ in }
  ) async throws(RelayStartError) -> Relay {
    log.tellHeld(by: loops[0])
    let lacksKeys = try lacksKeys(configuration)
    let front = try RelayFront(configuration, on: loops, sockets: sockets, log: log)
    // A relay with its store on this machine listens a moment later anyway.
    if configuration.store.postgres != nil, front.passing == nil {
      try tryListening(configuration, sockets, log)
    }
    do throws(RelayStartError) {
      if front.passing != nil { try open(front, listening) }
      let relay = try await Relay.assemble(configuration, front, loop: loops[0], log: log) { wait in
        front.note(wait)
        if lacksKeys { tellOfKeys(wait, log) }
        waiting(wait)
      }
      relay.openNeeds()
      front.lead(relay.parts)
      do throws(RelayStartError) {
        if front.passing == nil { try open(front, listening) }
      } catch {
        await relay.drain(graceSeconds: 0)
        throw error
      }
      relay.warnOfOpenness()
      relay.warnOfShutness()
      relay.setOff()
      return relay
    } catch {
      await front.close()
      throw error
    }
  }

  /// Looks at the keys of receipts: a spare takes them up when it has the store, perhaps in months.
  ///
  /// - Returns: Whether it would have to make the first one.
  private static func lacksKeys(_ configuration: Configuration) throws(RelayStartError) -> Bool {
    do throws(ConfigurationProblem) {
      let keys = try configuration.receiptKeys()
      return configuration.receipts != nil && keys == nil
    } catch {
      throw RelayStartError(description: error.reason)
    }
  }

  /// Says to a spare without keys that it would make others than those that devices know.
  private static func tellOfKeys(_ wait: StoreWait, _ log: Log) {
    guard case .another = wait else { return }
    log.warning(
      "this spare has no keys for receipts: it makes its own once it takes over",
      ("fix", .text("Bring it the folder receipts.keys of the relay that has the store.")))
  }

  private static func open(
    _ front: RelayFront, _ listening: (ListeningRelay) -> Void
  ) throws(RelayStartError) {
    try front.open()
    listening(ListeningRelay(front: front))
  }

  /// Finds out whether a relay could listen, before it may wait for its store for months.
  ///
  /// An address that another relay still has, or that another machine has, may be this one's when
  /// it takes the store: that is told, and does not end the start. Anything else is a mistake.
  private static func tryListening(
    _ configuration: Configuration, _ sockets: InheritedSockets, _ log: Log
  ) throws(RelayStartError) {
    for listener in configuration.listen {
      do throws(SystemError) {
        try Listener.attempt(listener.endpoint, inherited: sockets)
      } catch {
        let failure = RelayStartError(cannotListenOn: listener.endpoint, error)
        guard error.code == EADDRINUSE || error.code == EADDRNOTAVAIL else { throw failure }
        log.warning(
          "this relay could not listen now: it cannot take over as long as that is so",
          ("error", .text(failure.description)))
      }
      guard let tls = listener.tls else { continue }
      do throws(TLSLoadError) { _ = try TLSContext(loading: tls.settings) } catch {
        throw RelayStartError(description: "cannot secure \(listener): \(error)")
      }
    }
  }

  /// A reminder, since somebody may have configured it and forgotten it.
  func warnOfOpenness() {
    guard parts.access.isOpen, parts.listeners.contains(where: \.isOpenToOthers) else {
      return
    }
    log.warning("anybody who can reach the relay may use it, as access.anonymous says")
  }

  /// A damaged store may have held the tokens that everybody else was kept out by.
  func warnOfShutness() {
    guard parts.access.isShut else { return }
    let fix =
      "Configure access.operators; or say access.anonymous: allow (--allow-anonymous), if there "
      + "never were any tokens."
    log.warning(
      "nobody may use the relay: it has no credential, and may have lost some with a damaged store",
      ("setAside", .text(parts.embedded?.files().setAside?.folder ?? "")), ("fix", .text(fix)))
  }

  /// Operations that ran when their process ended are marked as interrupted.
  ///
  /// A disk that takes no more must not keep the relay from starting.
  func noteInterrupted() async {
    await finish("end the operations of the process before") {
      [parts] () async throws(StoreError) in
      for incarnation in try await parts.store.endedIncarnations() {
        try await parts.store.interruptOperations(of: incarnation, at: parts.now().wall)
      }
    }
  }

  /// Takes up the uploads that were open when the process before ended.
  ///
  /// Trouble with them must not keep the relay from starting: nothing of them was accepted yet.
  func takeUpUploads() async {
    await finish("take up the uploads that are open") { [parts] () async throws(StoreError) in
      parts.uploads.restore(try await parts.store.openUploads())
    }
  }

  /// The time from one try of ``finish(_:_:)`` to the next, in milliseconds.
  private static let finishingMs: Int64 = 5_000

  /// Does a part of the start that the relay can do without for a while.
  ///
  /// If the store does not let it, it is tried again and again beside what the relay does, until
  /// the store is closed.
  private func finish(
    _ part: String, _ work: @escaping @Sendable () async throws(StoreError) -> Void
  ) async {
    guard let error = await Self.failure(of: work) else { return }
    log.error(
      "a part of the start is left to be done: it is tried again",
      ("part", .text(part)), ("error", .text(error.description)))
    let (loop, log) = (parts.dispatcher.loop, log)
    Task(executorPreference: loop) {
      var last: StoreError? = error
      while let error = last, error.kind != .closed {
        await loop.sleep(until: MonotonicClock.now().adding(milliseconds: Self.finishingMs))
        last = await Self.failure(of: work)
      }
      if last == nil { log.info("what was left of the start is done", ("part", .text(part))) }
    }
  }

  private static func failure(
    of work: () async throws(StoreError) -> Void
  ) async -> StoreError? {
    do throws(StoreError) {
      try await work()
      return nil
    } catch {
      return error
    }
  }

  /// Says what the store's start has found.
  static func tell(of files: StoreFiles, _ log: Log) {
    if let note = files.startNote {
      log.warning("the store was opened with a remark", ("remark", .text(note)))
    }
    guard let aside = files.setAside, let tokens = aside.tokens else { return }
    log.warning(
      "the store was damaged: it was set aside as asked, and a new one begun with its tokens",
      ("folder", .text(aside.folder)), ("reason", .text(aside.reason ?? "at an earlier start")),
      ("tokens", .integer(Int64(tokens.tokens))),
      ("revocations", .integer(Int64(tokens.revocations))),
      ("unreadable", tokens.unreadable.map { .integer(Int64($0)) } ?? .text("all")))
  }
}

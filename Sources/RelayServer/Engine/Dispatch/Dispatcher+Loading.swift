import EventLoop
import Forwarder
import RelayCore
import Synchronization

/// A content that is to be loaded and sent for an envelope.
struct PendingLoad {
  var entry: LineEntry
  var isVerification = false
  /// What its sender said of it, for another relay; nil unless it goes to one.
  var terms: SenderTerms?
}

// How contents come from the store to their attempts.
extension Dispatcher {
  /// Reads what is to be attempted and is not at hand.
  func load(_ pending: [PendingLoad]) {
    let serials = pending.map(\.entry.serial)
    Task(executorPreference: loop) { [self] in
      do throws(StoreError) {
        let pending = try await withTerms(pending)
        let loaded = try await store.load(serials)
        let large = Set(loaded.lazy.filter(\.hasBodyToCheck).map(\.serial))
        let rest = pending.filter { !large.contains($0.entry.serial) }
        // It takes as long as their bodies are: nobody else waits for that.
        for load in pending where large.contains(load.entry.serial) { loadLarge(load) }
        attempt(
          rest, with: try await filled(loaded.filter { !large.contains($0.serial) }, for: rest))
      } catch {
        await readFailed(pending, error)
      }
    }
  }

  private func loadLarge(_ load: PendingLoad) {
    Task(executorPreference: loop) { [self] in
      do throws(StoreError) {
        attempt([load], with: try await filled(try await checked(load), for: [load]))
      } catch {
        await readFailed([load], error)
      }
    }
  }

  /// Loads an envelope, and looks at its body where that is in a file.
  private func checked(_ load: PendingLoad) async throws(StoreError) -> [DeliverableEnvelope] {
    let loaded = try await store.load([load.entry.serial])
    for envelope in loaded {
      // What is only asked for is asked for without its body.
      guard !load.isVerification, case .file(let file) = envelope.content.body else { continue }
      try await store.checkBody(in: file)
    }
    return loaded
  }

  /// Reads what will be attempted next, while those before it are under way.
  ///
  /// A content that cannot be read is tried again when its turn comes.
  func readAhead(_ reading: ContentCache.Reading) {
    Task(executorPreference: loop) { [self] in
      let envelopes = (try? await store.load(reading.serials)) ?? []
      state.withLock {
        $0.contents.finish(reading, with: envelopes)
      }
    }
  }

  /// Only those that cannot be read themselves are set apart, or wait; the others go on.
  private func readFailed(_ pending: [PendingLoad], _ error: StoreError) async {
    guard error.kind == .corrupt || pending.count > 1 else {
      logUnread(error)
      return withdrawLater(pending.map(\.entry.serial))
    }
    for load in pending {
      do throws(StoreError) {
        let load = try await withTerms([load])[0]
        attempt([load], with: try await filled(try await checked(load), for: [load]))
      } catch {
        if error.kind == .corrupt {
          quarantine(load.entry, error)
        } else {
          await readFailed([load], error)
        }
      }
    }
  }

  func logUnread(_ error: StoreError) {
    log.repeating(
      .error, "envelopes could not be read", about: "\(error.kind)", .usual,
      ("error", .text(error.description)))
  }

  /// Has envelopes tried again a little later.
  func withdrawLater(_ serials: [Serial]) {
    loop.schedule(afterMs: Self.readRetryDelayMs) { self.withdraw(serials) }
  }

  private func quarantine(_ entry: LineEntry, _ error: StoreError) {
    stories.tell(
      EnvelopeLog.Line(
        .serial(entry.serial), .error,
        "an envelope cannot be read and is quarantined; its lane stands",
        ("error", .text(error.description))))
    let reason = "quarantined: it cannot be read from the store"
    apply { state, now in
      state.scheduler.attemptUnreadable(entry.serial, reason: reason, now: now)
    }
  }

  /// Fills references, but for requests that only ask about an envelope, which have no content.
  ///
  /// Another relay fills them itself, from the answers that it gets.
  private func filled(
    _ loaded: [DeliverableEnvelope], for pending: [PendingLoad]
  ) async throws(StoreError) -> FilledEnvelopes {
    let unfilled = Set(
      pending.lazy.filter { $0.isVerification || $0.terms != nil }.map(\.entry.serial))
    guard !unfilled.isEmpty else { return try await filled(loaded) }
    var result = try await filled(loaded.filter { !unfilled.contains($0.serial) })
    result.ready += loaded.filter { unfilled.contains($0.serial) }
    return result
  }

  private func attempt(_ pending: [PendingLoad], with filled: FilledEnvelopes) {
    var contents = Dictionary(uniqueKeysWithValues: filled.ready.map { ($0.serial, $0) })
    var requests: [AttemptRequest] = []
    var vanished: [Serial] = []
    var overtaken: [Serial] = []
    for load in pending where filled.unsendable[load.entry.serial] == nil {
      guard let content = contents.removeValue(forKey: load.entry.serial) else {
        vanished.append(load.entry.serial)
        continue
      }
      if let request = request(content, load) {
        requests.append(request)
      } else {
        overtaken.append(load.entry.serial)
      }
    }
    let forwarder = apply { state, now in
      for serial in overtaken { state.scheduler.attemptWithdrawn(serial, now: now) }
      for serial in vanished { state.scheduler.attemptVanished(serial, now: now) }
      for report in filled.reports(at: now.wall) { state.scheduler.attemptEnded(report, now: now) }
      return state.forwarder
    }
    if !requests.isEmpty { submit(requests, to: forwarder) }
  }
}

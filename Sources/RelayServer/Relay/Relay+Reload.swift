import Cryptography
import EventLoop
import Forwarder
import RelayCore
import Synchronization

// Another configuration for a relay that runs: taken up as a whole, or not at all.
extension Relay {
  /// The result of the last reload; nil if there was none.
  package var lastReload: ConfigurationReload? { parts.inForce.withLock { $0.lastReload } }

  /// Takes up another configuration, and says so in the log.
  ///
  /// No connection and no attempt is lost: what is under way goes on as it was begun. What cannot
  /// be changed in a running relay, or cannot be done, leaves everything as it was.
  ///
  /// - Parameter new: Checked already.
  /// - Precondition: One call at a time.
  package func reload(_ new: Configuration) async -> ConfigurationReload {
    let old = configuration
    var same = new
    same.origin = old.origin
    let files: ConnectionFiles
    let areKeysRenewed: Bool
    do throws(Refusal) {
      files = try new.connectionFiles()
      areKeysRenewed = try new.receiptKeysDiffer(from: parts.receiptKeys, of: old)
    } catch {
      return refuseReload([error.description])
    }
    let renewed = renewed(files)
    let isTracingRenewed = files.tracing != parts.inForce.withLock { $0.tracingFiles }
    guard same != old || !renewed.isEmpty || isTracingRenewed || areKeysRenewed else {
      return unchanged(new)
    }
    let outdated = renewed.compactMap {
      files.upstreams[$0]?.problem(of: $0, now: parts.now().wall)
    }
    guard outdated.isEmpty else { return refuseReload(outdated.map(\.description)) }
    let obstacles = new.obstacles(after: old)
    guard obstacles.isEmpty else { return refuseReload(obstacles.map(\.description)) }
    do {
      let prepared = try await prepare(new, files, after: old)
      parts.dispatcher.configure(prepared.upstreams)
      takeUp(new, prepared)
    } catch let error as Refusal {
      return refuseReload(["\(error.key): \(error.reason)"])
    } catch {
      opened.update(to: old)
      return refuseReload(["upstreams: the store could not take them up: \(error)"])
    }
    let changes = new.changes(since: old)
    let more =
      renewed.map { "upstreams.\($0)" } + (isTracingRenewed ? ["tracing"] : [])
      + (areKeysRenewed ? ["receipts"] : [])
    return applied(changes + more.filter { !changes.contains($0) })
  }

  /// Goes on as before, and says why in the log.
  ///
  /// - Parameter problems: At least one; each names what it is about, and what should stand there.
  @discardableResult
  package func refuseReload(_ problems: [String]) -> ConfigurationReload {
    for problem in problems.prefix(ConfigurationReload.problemsMax) {
      log.error(
        "configuration not reloaded, the old one goes on", ("problem", .text(problem)),
        ("problems", .integer(Int64(problems.count))))
    }
    return note(.refused, Array(problems.prefix(ConfigurationReload.problemsMax)))
  }

  // MARK: - What may fail

  private typealias Refusal = ConfigurationProblem

  /// All that a configuration needs, prepared so that taking it up cannot fail.
  struct Prepared {
    var upstreams: Dispatcher.Upstreams
    /// The store's numbers of the upstreams.
    var numbers: [String: UpstreamNumber]
    /// The new collector of spans, if it changes; nil inside for none.
    var collector: SpanExporter.Link??
    /// What the collector's files held when they were read.
    var tracingFiles: UpstreamFiles
    /// The keys of receipts; nil for none.
    var receiptKeys: ReceiptKeys?
  }

  /// Prepares a configuration, and does what may fail.
  ///
  /// Two things change before it is sure that the configuration comes into force. The store goes by
  /// the new one from here on, since the names of new upstreams are registered under its rules;
  /// whoever called puts the old one back if this fails. And the metrics know new upstreams, which
  /// harms nobody: names are only added.
  ///
  /// - Parameters:
  ///   - files: What the files hold that its upstreams name.
  ///   - old: What the relay goes by now; nil at the start.
  func prepare(
    _ new: Configuration, _ files: ConnectionFiles, after old: Configuration?
  ) async throws -> Prepared {
    let collector = try prepare(new.tracing, files.tracing, after: old?.tracing)
    let renewed = Set(renewed(files))
    let fresh = try new.upstreams.filter { upstream in
      old?.upstream(named: upstream.name) != upstream || renewed.contains(upstream.name)
    }.map { try target(of: $0, files.upstreams[$0.name]) }
    let mayBeginRing = parts.receiptKeys == nil && new.receipts != nil
    let hasReceipts = mayBeginRing ? try await parts.store.hasReceipts() : false
    let receiptKeys = try new.takeUpReceiptKeys(
      after: parts.receiptKeys, hasReceipts: hasReceipts, parts.now().wall, log)
    // Whether an upstream starts paused is asked when its name becomes known.
    opened.update(to: new)
    let numbers = try await parts.store.register(upstreams: new.upstreams.map(\.name))
    var targets = fresh.keyed(by: numbers) { $0 }
    for number in numbers.values where targets[number] == nil {
      targets[number] = parts.dispatcher.target(of: number)
    }
    parts.metrics.add(new.upstreams.map(\.name), numbers: numbers)
    let policies = new.upstreams.keyed(by: numbers) { $0.policy }
    return Prepared(
      upstreams: Dispatcher.Upstreams(policies: policies, targets: targets), numbers: numbers,
      collector: collector, tracingFiles: files.tracing, receiptKeys: receiptKeys)
  }

  private func target(
    of upstream: UpstreamConfiguration, _ files: UpstreamFiles?
  ) throws -> UpstreamTarget {
    let files = try files ?? UpstreamFiles(of: upstream)
    if let identity = files.identity { tell(identity, of: upstream.name) }
    do throws(UpstreamTargetError) {
      return try upstream.target(files, pseudonym: parts.pseudonym)
    } catch {
      throw Refusal(key: "upstreams.\(upstream.name).headers", reason: error.description)
    }
  }

  private func tell(_ identity: ClientIdentity, of upstream: String) {
    let until = WallTime(millisecondsSinceEpoch: identity.facts.validUntilSeconds * 1000)
    log.info(
      "client certificate loaded", ("upstream", .text(upstream)),
      ("name", .text(identity.facts.name)), ("validUntil", .text(RFC3339.format(until))))
    let findings = CertificateFindings(identity, now: parts.now().wall)
    for sentence in findings.problems + findings.warnings {
      log.warning(
        "certificate needs attention", ("upstream", .text(upstream)), ("reason", .text(sentence)))
    }
  }

  /// The names of the configured upstreams whose files hold something else than what is in use.
  private func renewed(_ files: ConnectionFiles) -> [String] {
    files.upstreams.keys.sorted().filter { name in
      guard let number = parts.upstreamNumber(name),
        let target = parts.dispatcher.target(of: number)
      else { return false }
      return UpstreamFiles(inForceFor: target) != files.upstreams[name]
    }
  }

  private func prepare(
    _ new: TracingConfiguration, _ files: UpstreamFiles, after old: TracingConfiguration?
  ) throws(Refusal) -> SpanExporter.Link?? {
    guard new != old || files != parts.inForce.withLock({ $0.tracingFiles }) else { return nil }
    do {
      return .some(try parts.dispatcher.tracer.link(to: new, files))
    } catch {
      throw Refusal(key: "tracing", reason: "\(error)")
    }
  }

  // MARK: - What comes of it

  /// Has every part go by a configuration: at the start, from nothing, and at each reload.
  ///
  /// This is one of two ways in which a key comes into force: a part that keeps a value is handed
  /// it here. The other is ``RelaySettings``, which whoever needs a value asks each time.
  ///
  /// The lines of the upstreams are taken up, or configured anew, by the caller.
  func takeUp(_ new: Configuration, _ prepared: Prepared) {
    parts.dispatcher.history.add(new.upstreams.compactMap { prepared.numbers[$0.name] })
    if let collector = prepared.collector {
      parts.dispatcher.tracer.update(to: new.tracing, collector)
    }
    parts.quotas.update(to: QuotaRules(new))
    parts.admission.setLimit(delayMs: new.limits.acceptanceDelayMsMax)
    parts.memory.resize(to: new.limits.memoryInFlightBytesMax)
    janitor.keep(
      new.retention, eventsForSeconds: new.events.keptSeconds,
      receipts: new.receipts)
    parts.front.setLimits(new.limits.http)
    parts.access.update(to: new.access)
    parts.takeUp(prepared.receiptKeys)
    log.update(to: new.log)
    let now = parts.now().wall
    parts.inForce.withLock { inForce in
      inForce.settings = RelaySettings(new, numbers: prepared.numbers)
      inForce.tracingFiles = prepared.tracingFiles
      inForce.generation += 1
      inForce.loadedAt = now
    }
  }

  private func applied(_ changes: [String]) -> ConfigurationReload {
    let generation = parts.inForce.withLock { $0.generation }
    log.info(
      "configuration reloaded", ("generation", .integer(Int64(generation))),
      ("changed", .text(changes.joined(separator: ", "))))
    warnOfOpenness()
    warnOfShutness()
    return note(.applied)
  }

  private func unchanged(_ new: Configuration) -> ConfigurationReload {
    // An upstream may take gzip by now.
    parts.dispatcher.forgetMarks()
    // What the file holds may read otherwise and yet say the same.
    parts.inForce.withLock {
      $0.settings = RelaySettings(new, numbers: $0.settings.numbers)
    }
    log.info("configuration read again: nothing has changed")
    return note(.unchanged)
  }

  private func note(
    _ result: ConfigurationReload.Result, _ problems: [String] = []
  ) -> ConfigurationReload {
    let reload = ConfigurationReload(at: parts.now().wall, result: result, problems: problems)
    parts.inForce.withLock { $0.lastReload = reload }
    parts.dispatcher.needs.expire()
    // Whoever is shown `/status` is shown that.
    parts.dispatcher.listeners.ring()
    return reload
  }
}

extension UpstreamFiles {
  /// The reason that the files of an upstream are not taken in place of those in use: the
  /// certificate's time has passed, or has not come; nil if there is none.
  fileprivate func problem(of upstream: String, now: WallTime) -> ConfigurationProblem? {
    guard let identity, let reason = CertificateFindings(identity, now: now).problems.first else {
      return nil
    }
    return ConfigurationProblem(key: "upstreams.\(upstream).clientCertificate", reason: reason)
  }
}

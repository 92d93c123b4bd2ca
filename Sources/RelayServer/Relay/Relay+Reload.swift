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
    guard same != old else { return unchanged(new) }
    let obstacles = new.obstacles(after: old)
    guard obstacles.isEmpty else { return refuseReload(obstacles.map(\.description)) }
    do {
      let prepared = try await prepare(new, after: old)
      parts.dispatcher.configure(prepared.upstreams)
      takeUp(new, prepared)
    } catch let error as Refusal {
      return refuseReload(["\(error.key): \(error.reason)"])
    } catch {
      opened.update(to: old)
      return refuseReload(["upstreams: the store could not take them up: \(error)"])
    }
    return applied(new.changes(since: old))
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

  // MARK: - Before anything is changed

  private typealias Refusal = ConfigurationProblem

  /// All that a configuration needs, prepared so that taking it up cannot fail.
  struct Prepared {
    var upstreams: Dispatcher.Upstreams
    /// The store's numbers of the upstreams.
    var numbers: [String: UpstreamNumber]
    /// The new collector of spans, if it changes; nil inside for none.
    var collector: SpanExporter.Link??
  }

  /// Prepares a configuration.
  ///
  /// - Parameter old: What the relay goes by now; nil at the start.
  func prepare(_ new: Configuration, after old: Configuration?) async throws -> Prepared {
    if let unusable = new.unusableAuthorities.first { throw unusable }
    let collector = try prepare(new.tracing, after: old?.tracing)
    var fresh: [UpstreamTarget] = []
    for upstream in new.upstreams where old?.upstream(named: upstream.name) != upstream {
      do throws(UpstreamTargetError) {
        fresh.append(try upstream.target())
      } catch {
        throw Refusal(key: "upstreams.\(upstream.name).headers", reason: error.description)
      }
    }
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
      collector: collector)
  }

  private func prepare(
    _ new: TracingConfiguration, after old: TracingConfiguration?
  ) throws(Refusal) -> SpanExporter.Link?? {
    guard new != old else { return nil }
    do {
      return .some(try parts.dispatcher.tracer.link(to: new))
    } catch {
      throw Refusal(key: "tracing", reason: "\(error)")
    }
  }

  // MARK: - What comes of it

  /// Has every part go by a configuration: at the start, from nothing, and at each reload.
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
    janitor.keep(new.retention, eventsForSeconds: new.events.keptSeconds)
    parts.front.setLimits(new.limits.http)
    parts.access.update(to: new.access)
    log.update(to: new.log)
    let now = parts.now().wall
    parts.inForce.withLock { inForce in
      inForce.settings = RelaySettings(new, numbers: prepared.numbers)
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

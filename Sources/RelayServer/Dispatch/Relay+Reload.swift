import EventLoop
import Forwarder
import RelayCore
import SQLiteStore
import Synchronization

// Another configuration for a relay that runs: taken up as a whole, or not at all.
extension Relay {
  /// What it goes by, for what looks things up.
  var settings: RelaySettings { inForce.withLock { $0.settings } }

  /// What it goes by.
  package var configuration: Configuration { settings.configuration }

  /// What came of the last reload; nil if there was none.
  package var lastReload: ConfigurationReload? { inForce.withLock { $0.lastReload } }

  /// Takes up another configuration, and says so in the log.
  ///
  /// No connection and no attempt is lost: what is under way goes on as it was begun. What cannot
  /// be changed in a running relay, or cannot be done, leaves everything as it was.
  ///
  /// - Parameter new: Checked already.
  /// - Precondition: One call at a time.
  package func reload(_ new: Configuration) async -> ConfigurationReload {
    let old = settings.configuration
    var same = new
    same.origin = old.origin
    guard same != old else { return unchanged(new) }
    let obstacles = new.obstacles(after: old)
    guard obstacles.isEmpty else { return refuseReload(obstacles.map(\.description)) }
    do {
      let collector = try prepare(new.tracing, after: old.tracing)
      let upstreams = try await prepare(new, after: old)
      metrics.add(new.upstreams.map(\.name), numbers: upstreams.numbers)
      dispatcher.configure(upstreams.dispatched)
      dispatcher.history.add(new.upstreams.compactMap { upstreams.numbers[$0.name] })
      if new.tracing != old.tracing { dispatcher.tracer.go(by: new.tracing, collector) }
      takeUp(new, numbers: upstreams.numbers)
    } catch let error as Refusal {
      return refuseReload(["\(error.key): \(error.reason)"])
    } catch {
      embedded.go(by: old.storeRules)
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

  /// Where spans are to go, if that is said anew; nil for nowhere.
  private func prepare(
    _ new: TracingConfiguration, after old: TracingConfiguration
  ) throws(Refusal) -> SpanExporter.Link? {
    guard new != old else { return nil }
    do {
      return try dispatcher.tracer.link(to: new)
    } catch {
      throw Refusal(key: "tracing", reason: "\(error)")
    }
  }

  private func prepare(
    _ new: Configuration, after old: Configuration
  ) async throws -> (dispatched: Dispatcher.Upstreams, numbers: [String: UpstreamNumber]) {
    var fresh: [UpstreamTarget] = []
    for upstream in new.upstreams where old.upstream(named: upstream.name) != upstream {
      do throws(UpstreamTargetError) {
        fresh.append(try upstream.target())
      } catch {
        throw Refusal(key: "upstreams.\(upstream.name).headers", reason: error.description)
      }
    }
    // Whether an upstream starts paused is asked when its name becomes known.
    embedded.go(by: new.storeRules)
    let numbers = try await store.register(upstreams: new.upstreams.map(\.name))
    var targets = fresh.keyed(by: numbers) { $0 }
    for number in numbers.values where targets[number] == nil {
      targets[number] = dispatcher.target(of: number)
    }
    let policies = new.upstreams.keyed(by: numbers) { $0.policy }
    return (Dispatcher.Upstreams(policies: policies, targets: targets), numbers)
  }

  // MARK: - What comes of it

  private func takeUp(_ new: Configuration, numbers: [String: UpstreamNumber]) {
    quotas.go(by: QuotaRules(new))
    admission.hold(toDelayMs: new.limits.acceptanceDelayMsMax)
    memory.resize(to: new.limits.memoryInFlightBytesMax)
    janitor.keep(new.retention, eventsForSeconds: new.events.keptSeconds)
    holdConnections(to: new.limits.http)
    access.go(by: new.access)
    log.go(by: new.log)
    let now = now().wall
    inForce.withLock { inForce in
      inForce.settings = RelaySettings(new, numbers: numbers)
      inForce.generation += 1
      inForce.loadedAt = now
    }
  }

  private func applied(_ changes: [String]) -> ConfigurationReload {
    let generation = inForce.withLock { $0.generation }
    log.info(
      "configuration reloaded", ("generation", .integer(Int64(generation))),
      ("changed", .text(changes.joined(separator: ", "))))
    warnOfOpenness()
    warnOfShutness()
    return note(.applied)
  }

  private func unchanged(_ new: Configuration) -> ConfigurationReload {
    // What the file holds may read otherwise and yet say the same.
    inForce.withLock {
      $0.settings = RelaySettings(new, numbers: $0.settings.numbers)
    }
    log.info("configuration read again: nothing has changed")
    return note(.unchanged)
  }

  private func note(
    _ result: ConfigurationReload.Result, _ problems: [String] = []
  ) -> ConfigurationReload {
    let reload = ConfigurationReload(at: now().wall, result: result, problems: problems)
    inForce.withLock { $0.lastReload = reload }
    // Whoever is shown `/status` is shown that.
    dispatcher.listeners.ring()
    return reload
  }
}

import EventLoop
import Forwarder
import RelayCore

/// A running relay: the store, the dispatcher, the forwarder and the HTTP server, put together.
package final class Relay: Sendable {
  /// The parts that answer its requests.
  let parts: RelayParts
  let forwarder: Forwarder
  let clockWatch: ClockWatch
  let janitor: Janitor
  let opened: OpenedStore
  let front: RelayFront

  /// Puts the parts together, which go by nothing particular yet; see ``takeUp(_:_:)``.
  private init(
    _ parts: RelayParts, configuration: Configuration, opened: OpenedStore, front: RelayFront,
    forwarder: Forwarder, clockWatch: ClockWatch
  ) {
    self.parts = parts
    self.front = front
    self.forwarder = forwarder
    self.clockWatch = clockWatch
    self.opened = opened
    let nothing = Configuration()
    janitor = Janitor(
      dispatcher: parts.dispatcher, retention: nothing.retention,
      eventsKeptSeconds: nothing.events.keptSeconds, loop: parts.dispatcher.loop,
      clock: Clocks.read, log: parts.log,
      ages: RetentionAges(file: configuration.clockFile("retention-clock")),
      uploads: parts.uploads)
  }

  /// The configuration in force.
  package var configuration: Configuration { parts.configuration }

  /// The relay's log.
  package var log: Log { parts.log }

  /// Whether it is shutting down, and takes nothing new.
  package var isDraining: Bool { parts.isDraining }

  /// The addresses that it listens on, with actual ports, such as `http://127.0.0.1:8080`: one for
  /// each listener of the configuration, in its order.
  package var addresses: [String] {
    zip(parts.listeners, parts.front.endpoints).map { $0.shown(bound: $1) }
  }

  // MARK: - Start

  /// Opens the store and takes up the line where it was left.
  static func assemble(
    _ configuration: Configuration, _ front: RelayFront, loop: EventLoop, log: Log,
    waiting: @escaping @Sendable (StoreWait) -> Void
  ) async throws(RelayStartError) -> Relay {
    let opened = try await OpenedStore.open(
      configuration, log, reachedAt: front.relaysAddress, waiting: waiting)
    let store = opened.store
    do {
      return try await withTaskCancellationHandler {
        try await assemble(configuration, opened, front, loop: loop, log: log)
      } onCancel: {
        _ = store.giveUpWaiting()
      }
    } catch {
      await store.close()
      // It is said of the start, and not of one key.
      let reason = (error as? ConfigurationProblem)?.reason ?? "\(error)"
      throw RelayStartError(description: reason)
    }
  }

  private static func assemble(
    _ configuration: Configuration, _ opened: OpenedStore, _ front: RelayFront, loop: EventLoop,
    log: Log
  ) async throws -> Relay {
    let store = opened.store
    let files = opened.embedded?.files()
    if let files { tell(of: files, log) }
    let dispatcher = Dispatcher(
      store: store, loop: loop, clock: Clocks.read, log: log, meter: RateMeter(),
      metrics: RelayMetrics(listeners: configuration.listen.map(\.audience)),
      lanes: configuration.lanes, quotas: QuotaKeeper(QuotaRules(Configuration())))
    let latestTime = store.statistics().latestTime
    let clockWatch = ClockWatch(configuration, dispatcher: dispatcher, latestTime: latestTime)
    store.start(observer: dispatcher)
    opened.shared?.bearTrouble { error in
      log.warning(
        "the store is in trouble: the start waits until it passes, for a minute at the most",
        ("error", .text(error.description)))
    }
    let access = Access(
      AccessConfiguration(), certificatesName: configuration.certificatesName,
      tokens: try await Access.tokens(in: store),
      mayLackTokens: files?.mayLackTokens ?? false)
    let forwarder = try Forwarder(
      targets: [], bodies: opened.bodyReading(on: loop),
      mayWrite: { store.mayAttempt }
    ) { [weak dispatcher] batch in dispatcher?.attemptsEnded(batch)
    }
    let parts = RelayParts(
      listeners: configuration.listen, store: store, embedded: opened.embedded,
      pseudonym: Via.pseudonym(of: try await store.eventLogSpan().origin),
      dispatcher: dispatcher, access: access, front: front.server,
      passed: front.passing?.figures)
    let relay = Relay(
      parts, configuration: configuration, opened: opened, front: front, forwarder: forwarder,
      clockWatch: clockWatch)
    let prepared = try await relay.prepare(
      configuration, try configuration.connectionFiles(), after: nil)
    relay.takeUp(configuration, prepared)
    forwarder.configure(targets: Array(prepared.upstreams.targets.values), retired: [])
    try await relay.takeUpLine(prepared.upstreams, latestTime: latestTime)
    opened.shared?.bearTrouble(nil)
    if opened.shared != nil { relay.log.info("this relay has the store") }
    await relay.noteInterrupted()
    await relay.takeUpUploads()
    return relay
  }

  private func takeUpLine(
    _ upstreams: Dispatcher.Upstreams, latestTime: WallTime?
  ) async throws(StoreError) {
    let begin = MonotonicClock.now()
    let waiting = try await parts.dispatcher.takeUpLine(
      policies: upstreams.policies, targets: upstreams.targets, forwarder: forwarder,
      seed: UInt64.random(in: .min ... .max), latestTime: latestTime)
    await parts.dispatcher.noteStart()
    log.info(
      "line taken up", ("waiting", .integer(Int64(waiting))),
      ("durationMs", .integer(MonotonicClock.now().milliseconds(since: begin))))
  }

  /// Loads the listeners' certificates again, and ends the connections of clients whose own are not
  /// accepted any more.
  ///
  /// Each listener's certificate stands for itself: one that is not taken leaves that listener with
  /// its old one.
  ///
  /// Reads files: not on a loop that serves.
  ///
  /// - Returns: What is wrong with those that are not taken; ``refuseReload(_:)`` tells it.
  package func reloadCertificates() -> [String] {
    let (ended, problems) = parts.front.reloadCertificates()
    parts.dispatcher.needs.expire()
    if ended > 0 {
      log.warning(
        "connections end whose clients' certificates are not accepted any more",
        ("count", .integer(Int64(ended))))
    }
    return problems
  }

  /// Whoever asks from now on is told what needs somebody.
  func openNeeds() {
    parts.dispatcher.needs.open { [parts] keeper, memory in
      await NeedGathering(relay: parts).facts(keeper, &memory)
    }
  }

  /// Begins to deliver what waits.
  func setOff() {
    parts.dispatcher.setOff()
    janitor.start()
    let notifier = NeedNotifier(parts)
    let former = FormerNews(parts)
    parts.dispatcher.needs.start { [parts] needs in
      let isOld = await former.takeBack()
      await notifier.tell(isOld ? await parts.dispatcher.needs.needs() : needs)
    }
  }
}

/// Why a relay could not be started.
package struct RelayStartError: Error, Sendable, CustomStringConvertible {
  /// One sentence: what could not be done, to what, why, and what to do about it.
  package let description: String

  init(description: String) { self.description = description }

  init(cannotListenOn endpoint: Endpoint, _ error: SystemError) {
    description = ListenFailure(endpoint: endpoint, error: error).description
  }
}

/// A value with an upstream's name.
protocol NamedUpstream {
  var name: String { get }
}
extension UpstreamConfiguration: NamedUpstream {}
extension UpstreamTarget: NamedUpstream {}

extension Array where Element: NamedUpstream {
  /// The same by the store's numbers.
  func keyed<Value>(
    by numbers: [String: UpstreamNumber], _ value: (Element) -> Value
  ) -> [UpstreamNumber: Value] {
    var table: [UpstreamNumber: Value] = [:]
    for element in self {
      if let number = numbers[element.name] { table[number] = value(element) }
    }
    return table
  }
}

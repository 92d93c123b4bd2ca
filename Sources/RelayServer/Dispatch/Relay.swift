import EventLoop
import Forwarder
import HTTPServer
import RelayCore
import SQLiteStore
import Synchronization

/// A running relay: the store, the dispatcher, the forwarder and the HTTP server, put together.
package final class Relay: Sendable {
  /// What it goes by, and how that came to be.
  let inForce: Mutex<ConfigurationInForce>
  /// The listeners, which stay what they are until a restart.
  package let listeners: [ListenerConfiguration]
  /// Where envelopes are kept.
  package let store: any EnvelopeStore
  /// What carries out the scheduler's decisions.
  package let dispatcher: Dispatcher
  /// Who may use it.
  package let access: Access
  /// How many bytes of requests may be in memory.
  package let memory: MemoryBudget
  /// What waits of whom, and how much of it may.
  package let quotas: QuotaKeeper
  /// Whether posts are taken at all just now.
  package let admission: AdmissionGate
  /// Who waits for the outcome of an envelope or a run.
  let waits = PlaceKeeper()
  /// For whom the store is searched.
  let listings = PlaceKeeper()
  /// What is done with many envelopes.
  let operations: OperationDesk
  /// Whose turn it is to read a piece of a listing.
  let listingTurns = ListingTurns()
  /// Counts for the rates on `/status`.
  package let meter: RateMeter
  /// Counts for `/metrics`.
  let metrics: RelayMetrics
  /// When it was started.
  package let startedAt: WallTime
  /// The same, by the clock that nobody sets.
  private let startedMonotonic: MonotonicTime
  /// Where it logs.
  package let log: Log

  private let forwarder: Forwarder
  private let clockWatch: ClockWatch
  let janitor: Janitor
  let embedded: SQLiteStore
  private let loop: EventLoop
  private let draining = Atomic(false)
  let front = Mutex<Front?>(nil)

  /// What faces the senders.
  struct Front {
    var server: HTTPServer
    var loops: [EventLoop]
    var certificates: ListenerCertificates
    /// Where it listens, in the order of the configuration.
    var endpoints: [Endpoint]
  }

  private init(
    parts: RelayParts, configuration: Configuration, dispatcher: Dispatcher, forwarder: Forwarder,
    clockWatch: ClockWatch, loop: EventLoop
  ) {
    self.clockWatch = clockWatch
    listeners = configuration.listen
    inForce = Mutex(
      ConfigurationInForce(
        settings: RelaySettings(configuration, numbers: parts.numbers), loadedAt: WallClock.now()))
    self.dispatcher = dispatcher
    self.forwarder = forwarder
    self.loop = loop
    embedded = parts.store
    store = parts.store
    access = parts.access
    meter = dispatcher.meter
    metrics = dispatcher.metrics
    log = dispatcher.log
    quotas = dispatcher.quotas
    operations = OperationDesk { [listeners = dispatcher.listeners] in listeners.ring() }
    admission = AdmissionGate(
      delayMsMax: configuration.limits.acceptanceDelayMsMax, log: log, meter: meter)
    memory = MemoryBudget(bytesMax: configuration.limits.memoryInFlightBytesMax)
    startedAt = WallClock.now()
    startedMonotonic = MonotonicClock.now()
    janitor = Janitor(
      dispatcher: dispatcher, retention: configuration.retention,
      eventsKeptSeconds: configuration.events.keptSeconds, loop: loop,
      clock: Self.readClocks, log: log,
      ages: RetentionAges(file: ClockFile(path: configuration.data + "/retention-clock")))
  }

  // MARK: - What endpoints ask

  /// Whether it is shutting down, and takes nothing new.
  package var isDraining: Bool { draining.load(ordering: .relaxed) }

  /// Where it listens, with actual ports, such as `http://127.0.0.1:8080`: one for each listener of
  /// the configuration, in its order.
  package var addresses: [String] {
    let endpoints = front.withLock { $0?.endpoints ?? [] }
    return zip(listeners, endpoints).map { $0.shown(bound: $1) }
  }

  /// Both clocks, read at one moment.
  package func now() -> Now { Self.readClocks() }

  /// What deadlines count from that are so long after now: the time of day, or later where the
  /// machine's clock was set of late.
  package func deadlineStart() -> WallTime { WallClock.deadlineStart() }

  /// For how long it has run, in seconds.
  package var uptimeSeconds: Int64 {
    MonotonicClock.now().milliseconds(since: startedMonotonic) / 1000
  }

  /// The number of a configured upstream; nil if no such upstream is configured.
  package func upstreamNumber(_ name: String) -> UpstreamNumber? { settings.numbers[name] }

  /// Waits for a moment, also in a task that is cancelled: a change is seen through though its
  /// sender has gone.
  package func pause(milliseconds: Int64) async {
    await withUnsafeContinuation { continuation in
      _ = loop.schedule(afterMs: milliseconds) { continuation.resume() }
    }
  }

  /// Both clocks, read at one moment.
  @Sendable
  package static func readClocks() -> Now {
    Now(wall: WallClock.now(), monotonic: MonotonicClock.now())
  }

  // MARK: - Start

  /// Opens the store and takes up the line where it was left.
  static func assemble(
    _ configuration: Configuration, loop: EventLoop, log: Log
  ) async throws(RelayStartError) -> Relay {
    let store = try openStore(configuration)
    tell(of: store.statistics(), log)
    let dispatcher = Dispatcher(
      store: store, loop: loop, clock: readClocks, log: log, meter: RateMeter(),
      metrics: RelayMetrics(listeners: configuration.listen.map(\.audience)),
      lanes: configuration.lanes, quotas: QuotaKeeper(QuotaRules(configuration)))
    let latestTime = store.statistics().latestTime
    let clockWatch = ClockWatch(configuration, dispatcher: dispatcher, latestTime: latestTime)
    store.start(observer: dispatcher)
    do {
      let targets = try configuration.upstreams.map { try $0.target() }
      let names = configuration.upstreams.map(\.name)
      let numbers = try await store.register(upstreams: names)
      dispatcher.metrics.begin(names, numbers: numbers)
      dispatcher.history.begin(names.compactMap { numbers[$0] })
      let parts = RelayParts(
        store: store, numbers: numbers,
        policies: configuration.upstreams.keyed(by: numbers) { $0.policy },
        targets: targets.keyed(by: numbers) { $0 },
        access: Access(
          configuration.access, certificatesName: configuration.certificatesName,
          tokens: try await Access.tokens(in: store),
          mayLackTokens: store.statistics().mayLackTokens))
      let forwarder = try Forwarder(targets: targets) { [weak dispatcher] batch in
        dispatcher?.attemptsEnded(batch)
      }
      dispatcher.tracer.go(
        by: configuration.tracing, try dispatcher.tracer.link(to: configuration.tracing))
      let relay = Relay(
        parts: parts, configuration: configuration, dispatcher: dispatcher, forwarder: forwarder,
        clockWatch: clockWatch, loop: loop)
      try await relay.takeUpLine(parts, latestTime: latestTime)
      await relay.noteInterrupted()
      return relay
    } catch {
      await store.close()
      throw RelayStartError(description: "\(error)")
    }
  }

  private static func openStore(
    _ configuration: Configuration
  ) throws(RelayStartError) -> SQLiteStore {
    do throws(StoreError) {
      var options = SQLiteStore.Options()
      options.rules = configuration.storeRules
      options.setsAsideDamaged = configuration.setsAsideDamaged
      return try SQLiteStore.open(folder: configuration.data, options: options)
    } catch {
      throw RelayStartError(description: error.description)
    }
  }

  private func takeUpLine(
    _ parts: RelayParts, latestTime: WallTime?
  ) async throws(StoreError) {
    let begin = MonotonicClock.now()
    let waiting = try await dispatcher.takeUpLine(
      policies: parts.policies, targets: parts.targets, forwarder: forwarder,
      seed: UInt64.random(in: .min ... .max), latestTime: latestTime)
    await dispatcher.noteStart()
    log.info(
      "line taken up", ("waiting", .integer(Int64(waiting))),
      ("durationMs", .integer(MonotonicClock.now().milliseconds(since: begin))))
  }

  /// Binds the listeners and begins to accept.
  ///
  /// - Parameters:
  ///   - sockets: What the service manager has handed over.
  ///   - handler: Answers the requests.
  ///   - problem: Answers what the HTTP server refuses by itself.
  func listen(
    on loops: [EventLoop], sockets: InheritedSockets, handler: any RequestHandler,
    problem: @escaping @Sendable (ProtocolProblem) -> HTTPResponse
  ) throws(RelayStartError) {
    let certificates = try ListenerCertificates(loading: listeners, log: log)
    let server = HTTPServer(
      limits: configuration.limits.http, loops: loops, handler: handler, problem: problem,
      handshakeFailed: { [metrics, log] failure in
        metrics.countHandshakeFailure(on: failure.listener)
        log.tell(failure)
      },
      observeDelay: admission.noteReadDelay, observeAnswer: { [metrics] in metrics.count($0) },
      exchanges: AccessLog(log: log))
    var endpoints: [Endpoint] = []
    for (number, listener) in listeners.enumerated() {
      do throws(SystemError) {
        endpoints.append(
          try server.bind(
            listener.endpoint, number: number, mode: listener.mode, inherited: sockets,
            tls: certificates.credentials(of: number),
            isReserved: listener.audience == .operators))
      } catch {
        server.stopAccepting()
        throw RelayStartError(cannotListenOn: listener.endpoint, error)
      }
    }
    for name in sockets.names {
      log.warning(
        "the service manager has handed over a socket that no listener names",
        ("name", .text(name)),
        ("fix", .text("listen on systemd:\(name), or take it out of its unit")))
    }
    let bound = endpoints
    front.withLock {
      $0 = Front(
        server: server, loops: loops, certificates: certificates, endpoints: bound)
    }
    for (listener, address) in zip(listeners, addresses) {
      log.info(
        "listening", ("address", .text(address)),
        ("for", .text(listener.audience?.rawValue ?? "everybody")))
    }
  }

  /// Loads the listeners' certificates again, and ends the connections of clients whose own are not
  /// accepted any more.
  ///
  /// Reads files: not on a loop that serves.
  package func reloadCertificates() {
    guard let front = front.withLock({ $0 }), !front.certificates.isEmpty else { return }
    front.certificates.reload()
    let count = front.server.endDistrusted()
    guard count > 0 else { return }
    log.warning(
      "connections end whose clients' certificates are not accepted any more",
      ("count", .integer(Int64(count))))
  }

  /// Holds connections that are made from now on to other limits.
  func holdConnections(to limits: HTTPLimits) { front.withLock { $0?.server }?.hold(to: limits) }

  /// What is wrong with the listeners' certificates just now, as sentences.
  package func certificateProblems() -> [String] {
    front.withLock { $0?.certificates }?.problems(at: now().wall) ?? []
  }

  /// Begins to deliver what waits.
  func setOff() {
    dispatcher.setOff()
    janitor.start()
  }

  // MARK: - End

  /// Takes nothing new, lets what is under way finish, puts the rest back as it was, and closes the
  /// store.
  ///
  /// - Parameter graceSeconds: How long attempts and answers may take to finish.
  package func drain(graceSeconds: Int) async {
    draining.store(true, ordering: .relaxed)
    let graceMs = Int64(graceSeconds) * 1000
    let deadline = MonotonicClock.now().adding(milliseconds: graceMs)
    janitor.stop()
    log.info("draining", ("graceSeconds", .integer(Int64(graceSeconds))))
    let server = front.withLock { $0?.server }
    dispatcher.tracer.hurry()
    async let attempts: Void = dispatcher.drain(graceMs: graceMs)
    _ = await server?.drain(until: deadline)
    await attempts
    forwarder.shutdown()
    await dispatcher.history.stop()
    await dispatcher.stories.settled()
    await store.close()
    await dispatcher.tracer.stop(until: deadline)
    clockWatch.stop()
    log.tellRest()
    log.info("stopped")
  }
}

/// The parts of a relay that are known before it is put together.
private struct RelayParts {
  var store: SQLiteStore
  var numbers: [String: UpstreamNumber]
  var policies: [UpstreamNumber: UpstreamPolicy]
  var targets: [UpstreamNumber: UpstreamTarget]
  var access: Access
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

/// What has an upstream's name.
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

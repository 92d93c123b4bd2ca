import EventLoop
import RelayServer
import Synchronization

/// The running relay, which reads its certificates and configuration again at a SIGHUP.
final class RunningRelay: Sendable {
  private struct State {
    var relay: Relay?
    /// The same from when it listens, which a spare does before it runs.
    var listening: (relay: ListeningRelay, log: Log)?
    var isReloading = false
    /// Whether another SIGHUP has come since the files were read.
    var isDue = false
  }

  private let source: ConfigurationSource
  private let loop: EventLoop
  private let manager: ServiceManager?
  private let state = Mutex(State())

  /// Begins without a relay; ``begin(_:)`` brings it.
  ///
  /// - Parameters:
  ///   - source: The source of the relay's configuration.
  ///   - loop: The loop on which files are read; it serves no senders.
  ///   - manager: The service manager to tell of reloads.
  init(_ source: ConfigurationSource, on loop: EventLoop, manager: ServiceManager?) {
    self.manager = manager
    self.source = source
    self.loop = loop
  }

  /// Takes the relay that listens now, perhaps as a spare.
  func begin(_ listening: ListeningRelay, log: Log) {
    state.withLock { $0.listening = (listening, log) }
  }

  /// Takes the relay that runs now, and handles a SIGHUP that came while it started.
  func begin(_ relay: Relay) {
    let isDue = state.withLock { state in
      state.relay = relay
      return state.isDue
    }
    if isDue { reload() }
  }

  /// Reads everything again; several calls at once lead to one or two reloads.
  func reload() {
    let (relay, spare) = state.withLock { state -> (Relay?, (ListeningRelay, Log)?) in
      state.isDue = true
      guard let relay = state.relay else { return (nil, state.listening) }
      guard !state.isReloading else { return (nil, nil) }
      state.isReloading = true
      return (relay, nil)
    }
    if let (spare, log) = spare { return reloadCertificates(of: spare, log) }
    guard let relay else { return }
    // This is a task beside the loop's waiting for signals: the store may take its time, and a
    // SIGTERM must not wait for it.
    Task(executorPreference: loop) { await self.reload(relay) }
  }

  /// A spare takes up nothing else before it has its store.
  private func reloadCertificates(of spare: ListeningRelay, _ log: Log) {
    Task(executorPreference: loop) {
      for problem in spare.reloadCertificates() {
        log.error("a certificate was not taken", ("error", .text(problem)))
      }
      do throws(ConfigurationSource.Failure) {
        let new = try self.source.load(environment: Environment.variables(), isAnew: true)
        let obstacles = spare.obstacles(to: new)
        self.tell(of: obstacles.map(\.description), log)
        guard obstacles.isEmpty else { return }
        log.info("the configuration is good: it is taken up once this relay has the store")
      } catch {
        self.tell(of: error.problems, log)
      }
    }
  }

  private func tell(of problems: [String], _ log: Log) {
    for problem in problems {
      log.error(
        "the configuration would be refused once this relay has the store",
        ("error", .text(problem)))
    }
  }

  private func reload(_ relay: Relay) async {
    while takeTurn() {
      if relay.isDraining { continue }
      manager?.tell(.reloading)
      defer { manager?.tell(.ready, .status(relay.standing)) }
      let unusable = relay.reloadCertificates()
      do throws(ConfigurationSource.Failure) {
        let configuration = try source.load(environment: Environment.variables(), isAnew: true)
        guard unusable.isEmpty else {
          relay.refuseReload(unusable)
          continue
        }
        let result = await relay.reload(configuration).result
        if result == .applied { ServeCommand.raiseDescriptors(configuration, relay.log) }
      } catch {
        relay.refuseReload(unusable + error.problems)
      }
    }
  }

  private func takeTurn() -> Bool {
    state.withLock { state in
      defer { state.isDue = false }
      state.isReloading = state.isDue
      return state.isDue
    }
  }
}

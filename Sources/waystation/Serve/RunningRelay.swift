import EventLoop
import RelayServer
import Synchronization

/// The relay, once it runs, and what a SIGHUP has it do: read certificates and configuration again.
final class RunningRelay: Sendable {
  private struct State {
    var relay: Relay?
    var isReloading = false
    /// Whether another SIGHUP has come since the files were read.
    var isDue = false
  }

  private let source: ConfigurationSource
  private let loop: EventLoop
  private let manager: ServiceManager?
  private let state = Mutex(State())

  /// A relay that does not run yet.
  ///
  /// - Parameters:
  ///   - source: Where its configuration comes from.
  ///   - loop: Where files are read: none that serves.
  ///   - manager: Who is told of reloads.
  init(_ source: ConfigurationSource, on loop: EventLoop, manager: ServiceManager?) {
    self.manager = manager
    self.source = source
    self.loop = loop
  }

  /// The relay runs now; a SIGHUP that has come while it started is seen to.
  func begin(_ relay: Relay) {
    let isDue = state.withLock { state in
      state.relay = relay
      return state.isDue
    }
    if isDue { reload() }
  }

  /// Reads everything again; several calls at once come to one or two.
  func reload() {
    let relay = state.withLock { state -> Relay? in
      state.isDue = true
      guard let relay = state.relay, !state.isReloading else { return nil }
      state.isReloading = true
      return relay
    }
    guard let relay else { return }
    // Beside the loop's waiting for signals: the store may take its time, and a SIGTERM must not.
    Task(executorPreference: loop) { await self.reload(relay) }
  }

  private func reload(_ relay: Relay) async {
    while takeTurn() {
      if relay.isDraining { continue }
      manager?.tell(.reloading)
      defer { manager?.tell(.ready, .status(relay.standing)) }
      relay.reloadCertificates()
      do throws(ConfigurationSource.Failure) {
        let configuration = try source.load(environment: Environment.variables())
        let result = await relay.reload(configuration).result
        if result == .applied { ServeCommand.raiseDescriptors(configuration, relay.log) }
      } catch {
        relay.refuseReload(error.problems)
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

import EventLoop
import RelayServer
import Synchronization

/// `waystation serve`: runs the relay until it is told to stop.
enum ServeCommand {
  static func run(_ source: ConfigurationSource) -> ExitCode {
    StopSignals.block(withHangUp: true)
    do throws(ConfigurationSource.Failure) {
      return serve(try source.load(environment: Environment.variables()))
    } catch {
      error.report()
      return .failed
    }
  }

  private static func serve(_ configuration: Configuration) -> ExitCode {
    let log = Log(
      level: configuration.log.level, format: configuration.log.format,
      descriptor: StandardStream.error.rawValue)
    warnOfFewDescriptors(configuration.limits.connectionsMax, log)
    do throws(SystemError) {
      // Signals have a loop of their own, so that they are seen however busy the others are.
      let waiting = try EventLoop(name: "signals")
      let running = RunningRelay()
      let stop = try StopSignals(on: waiting) { running.relay?.reloadCertificates() }
      let loops = try makeLoops()
      return Blocking.run(on: waiting) {
        await relay(configuration, loops: loops, log: log, as: running, until: stop)
      }
    } catch {
      StandardStream.error.line("waystation serve: cannot start: \(error)")
      return .failed
    }
  }

  private static func relay(
    _ configuration: Configuration, loops: [EventLoop], log: Log, as running: RunningRelay,
    until stop: StopSignals
  ) async -> ExitCode {
    do throws(RelayStartError) {
      let relay = try await Relay.start(configuration, loops: loops, log: log)
      running.relay = relay
      for address in relay.addresses {
        StandardStream.output.line("listening on \(address)")
      }
      await stop.requested()
      await relay.drain(graceSeconds: configuration.shutdownGraceSeconds)
      return .good
    } catch {
      StandardStream.error.line("waystation serve: \(error)")
      return .failed
    }
  }

  private static func makeLoops() throws(SystemError) -> [EventLoop] {
    var loops: [EventLoop] = []
    for number in 1...LoopCount.forProcessors(LoopCount.processors) {
      loops.append(try EventLoop(name: "server-\(number)"))
    }
    return loops
  }

  private static func warnOfFewDescriptors(_ connectionsMax: Int, _ log: Log) {
    guard let limit = OpenFileLimit.raise(toHold: connectionsMax) else { return }
    log.warning(
      "too few file descriptors for connectionsMax; raise the limit (ulimit -n) or lower the other",
      ("descriptorsMax", .integer(Int64(limit))),
      ("connectionsMax", .integer(Int64(connectionsMax))),
      ("needed", .integer(Int64(connectionsMax + OpenFileLimit.reserve))))
  }
}

/// The relay, once it runs: a SIGHUP may come before that.
private final class RunningRelay: Sendable {
  private let started = Mutex<Relay?>(nil)

  var relay: Relay? {
    get { started.withLock { $0 } }
    set { started.withLock { $0 = newValue } }
  }
}

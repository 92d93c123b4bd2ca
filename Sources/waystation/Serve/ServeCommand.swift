import EventLoop
import RelayServer

/// `waystation serve`: runs the relay until it is told to stop.
enum ServeCommand {
  static func run(_ source: ConfigurationSource) -> ExitCode {
    StopSignals.block(withHangUp: true)
    do throws(ConfigurationSource.Failure) {
      let variables = Environment.variables()
      return serve(try source.load(environment: variables), from: source, variables)
    } catch {
      error.report()
      return .failed
    }
  }

  private static func serve(
    _ configuration: Configuration, from source: ConfigurationSource,
    _ variables: [String: String]
  ) -> ExitCode {
    let log = Log(configuration.log, descriptor: StandardStream.error.rawValue)
    raiseDescriptors(configuration, log)
    do throws(SystemError) {
      // Signals have a loop of their own, so that they are noticed however busy the others are.
      let waiting = try EventLoop(name: "signals")
      let service = Service(variables, waiting: waiting)
      let running = RunningRelay(source, on: waiting, manager: service.manager)
      let stop = try StopSignals(on: waiting) { running.reload() }
      let loops = try makeLoops()
      return Blocking.run(on: waiting) {
        await relay(
          configuration, loops: loops, log: log, service: service, as: running, until: stop)
      }
    } catch {
      StandardStream.error.line("waystation serve: cannot start: \(error)")
      return .failed
    }
  }

  private static func relay(
    _ configuration: Configuration, loops: [EventLoop], log: Log, service: Service,
    as running: RunningRelay, until stop: StopSignals
  ) async -> ExitCode {
    let start = Task {
      do throws(RelayStartError) {
        return Result<Relay, RelayStartError>.success(
          try await Relay.start(
            configuration, loops: loops, log: log, sockets: service.sockets,
            listening: { listening in
              running.begin(listening, log: log)
              tell(of: listening.addresses)
            }
          ) { service.waits(for: $0, loops: loops) })
      } catch {
        return .failure(error)
      }
    }
    // A start may wait for its store, and a stop must not wait for the start then.
    let stopped = Task {
      await stop.requested()
      start.cancel()
    }
    do throws(RelayStartError) {
      let relay = try await start.value.get()
      running.begin(relay)
      service.started(relay, loops: loops)
      await stopped.value
      service.manager?.tell(.stopping, .status("stopping: attempts in flight may finish"))
      await relay.drain(graceSeconds: relay.configuration.shutdownGraceSeconds)
      return .good
    } catch {
      guard !start.isCancelled else { return .good }
      StandardStream.error.line("waystation serve: \(error)")
      return .failed
    }
  }

  private static func tell(of addresses: [String]) {
    for address in addresses { StandardStream.output.line("listening on \(address)") }
  }

  private static func makeLoops() throws(SystemError) -> [EventLoop] {
    var loops: [EventLoop] = []
    for number in 1...LoopCount.forProcessors(LoopCount.processors) {
      loops.append(try EventLoop(name: "server-\(number)"))
    }
    return loops
  }

  /// Raises the limit on open descriptors for the configured number of connections, or warns.
  static func raiseDescriptors(_ configuration: Configuration, _ log: Log) {
    let connectionsMax = configuration.limits.connectionsMax
    guard let limit = OpenFileLimit.raise(toHold: connectionsMax) else { return }
    log.warning(
      "too few file descriptors for connectionsMax; raise the limit (ulimit -n) or lower that",
      ("descriptorsMax", .integer(Int64(limit))),
      ("connectionsMax", .integer(Int64(connectionsMax))),
      ("needed", .integer(Int64(connectionsMax + OpenFileLimit.reserve))))
  }
}

import EventLoop
import HTTPServer
import RelayCore
import RelayServer

/// `waystation sink`: a small upstream that prints what reaches it.
enum SinkCommand {
  /// The longest time for open requests once the sink was asked to stop, in milliseconds.
  static let drainMs: Int64 = 2000

  static func run(_ options: SinkOptions) -> ExitCode {
    StopSignals.block()
    let record: SinkRecord?
    do throws(SinkRecord.Failure) {
      if let path = options.record {
        record = try SinkRecord(appendingTo: path)
      } else {
        record = nil
      }
    } catch {
      StandardStream.error.line("waystation sink: \(error)")
      return .failed
    }
    return run(options, record)
  }

  private static func run(_ options: SinkOptions, _ record: SinkRecord?) -> ExitCode {
    do throws(SystemError) {
      let serving = try EventLoop(name: "sink")
      // Signals have a loop of their own: a slow reader of the output blocks the other.
      let waiting = try EventLoop(name: "signals")
      let stop = try StopSignals(on: waiting)
      return Blocking.run(on: waiting) {
        do throws(ListenFailure) {
          try await serve(options, record, serving: serving, waiting: waiting, until: stop)
          return .good
        } catch {
          StandardStream.error.line("waystation sink: \(error)")
          return .failed
        }
      }
    } catch {
      StandardStream.error.line("waystation sink: cannot start: \(error)")
      return .failed
    }
  }

  private static func serve(
    _ options: SinkOptions, _ record: SinkRecord?, serving: EventLoop, waiting: EventLoop,
    until stop: StopSignals
  ) async throws(ListenFailure) {
    let printer = SinkPrinter(on: serving)
    let server = HTTPServer(
      limits: limits, loops: [serving],
      handler: SinkHandler(
        options: options, loop: serving, printer: options.isQuiet ? nil : printer,
        record: record))
    guard let address = try await beDown(options, on: waiting, until: stop) else { return }
    let bound = try listening(on: address) { () throws(SystemError) in try server.bind(address) }
    StandardStream.output.line("listening on http://\(bound)")
    await stop.requested()
    await server.drain(until: MonotonicClock.now().adding(milliseconds: drainMs))
    printer.flush()
  }

  /// Waits for as long as `--down-for` says, with nothing listening.
  ///
  /// Listens for a moment first, so that a taken address is reported now rather than later, and the
  /// port that 0 stands for is known.
  ///
  /// - Returns: The address to listen on; nil if the sink was asked to stop meanwhile.
  private static func beDown(
    _ options: SinkOptions, on loop: EventLoop, until stop: StopSignals
  ) async throws(ListenFailure) -> SocketAddress? {
    guard options.downForMs > 0 else { return options.listen }
    let probe = try listening(on: options.listen) { () throws(SystemError) in
      try Listener(options.listen, on: loop)
    }
    probe.close()
    StandardStream.error.line(
      "down for \(DurationText.text(options.downForMs)); then listening on"
        + " http://\(probe.address)")
    return await stop.requested(withinMs: options.downForMs) ? nil : probe.address
  }

  private static func listening<Result>(
    on address: SocketAddress, _ body: () throws(SystemError) -> Result
  ) throws(ListenFailure) -> Result {
    do throws(SystemError) {
      return try body()
    } catch {
      throw ListenFailure(endpoint: .tcp(address), error: error)
    }
  }

  /// Limits wide enough for anything that a test sends.
  private static var limits: HTTPLimits {
    var limits = HTTPLimits()
    limits.requestLineBytesMax = 1 << 20
    limits.fieldCountMax = 1000
    limits.fieldBytesMax = 1 << 20
    limits.bodyBytesMax = 1 << 40
    limits.idleTimeoutMs = 600_000
    return limits
  }
}

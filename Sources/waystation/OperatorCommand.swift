import Glibc

/// The commands that call a running relay.
enum OperatorCommand {
  static func run(_ order: OperatorOrder) -> ExitCode {
    _ = signal(SIGPIPE, SIG_IGN)
    let environment = Environment.variables()
    let context = CommandContext(order: order, terminal: Terminal.current(environment))
    do throws(OperatorFailure) {
      let relay = try RelayClient(order.options, environment)
      switch order.command {
      case .status: return try StatusCommand(context: context, relay: relay).run()
      case .envelopes: return try EnvelopesCommand(context: context, relay: relay).run()
      case .clients: return try ClientsCommand(context: context, relay: relay).run()
      case .lanes: return try LanesCommand(context: context, relay: relay).run()
      case .uploads: return try UploadsCommand(context: context, relay: relay).run()
      case .upstreams: return try UpstreamsCommand(context: context, relay: relay).run()
      case .events: return try EventsCommand(context: context, relay: relay).run()
      case .operations: return try OperationsCommand(context: context, relay: relay).run()
      case .audit: return try AuditCommand(context: context, relay: relay).run()
      case .send: return try SendCommand(context: context, relay: relay).run()
      case .export: return try ExportCommand(context: context, relay: relay).run()
      default: return try ImportCommand(context: context, relay: relay).run()
      }
    } catch {
      context.tell(error)
      return error.code
    }
  }
}

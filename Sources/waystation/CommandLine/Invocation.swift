import EventLoop
import RelayServer

/// The parsed command line.
enum Invocation: Equatable {
  case serve(ConfigurationSource)
  case sink(SinkOptions)
  case check(ConfigurationSource)
  /// nil if the environment names the server.
  case health(server: String?)
  case token(TokenOptions)
  case version
  case store(StoreOrder)
  case keys(KeysOrder)
  case auditLane(AuditLaneOrder)
  /// A command that calls a running relay, other than `health` and `token`.
  case operate(OperatorOrder)
  case completions(Shell)
  case complete(CompleteOrder)
  case man
  /// nil for the list of commands; with one of the command's actions for that alone.
  case help(Command?, action: String? = nil)

  /// Parses a command line, without the program's own name.
  static func parse(_ arguments: [String]) throws(UsageError) -> Invocation {
    guard let word = arguments.first else { throw UsageError("a command is missing") }
    let rest = arguments.dropFirst()
    switch word {
    case "--help", "-h": return .help(nil)
    case "--version": return .version
    case CompleteOrder.word: return .complete(try CompleteOrder(rest))
    default: break
    }
    guard !word.hasPrefix("-") else {
      throw UsageError("expected a command, not '\(word)'")
    }
    guard let command = Command(rawValue: word) else { throw .unknownCommand(word) }
    if rest.contains("--help") || rest.contains("-h") {
      return .help(command, action: rest.first.flatMap { command.spec.action($0)?.name })
    }
    return try parse(command, rest)
  }

  private static func parse(
    _ command: Command, _ rest: ArraySlice<String>
  ) throws(UsageError) -> Invocation {
    if command == .help { return try parseHelp(rest) }
    if command == .token { return .token(try TokenOptions.parse(rest)) }
    if command == .store { return .store(try StoreOrder(rest)) }
    if command == .keys { return .keys(try KeysOrder(rest)) }
    if command == .auditLane { return .auditLane(try AuditLaneOrder(rest)) }
    if command == .completions { return .completions(try Shell.parse(rest)) }
    if OperatorOrder.commands.contains(command) {
      return .operate(try OperatorOrder(command, rest))
    }
    let options = try OptionReader(rest, of: command)
    switch command {
    case .serve: return .serve(ConfigurationSource(options))
    case .check: return .check(ConfigurationSource(options))
    case .sink: return .sink(try SinkOptions(options))
    case .health: return .health(server: options.text("--server"))
    case .version: return .version
    case .man: return .man
    default: return .help(nil)
    }
  }

  private static func parseHelp(_ rest: ArraySlice<String>) throws(UsageError) -> Invocation {
    guard let word = rest.first else { return .help(nil) }
    guard let command = Command(rawValue: word) else { throw .unknownCommand(word) }
    guard rest.count > 1 else { return .help(command) }
    guard rest.count == 2, let action = command.spec.action(rest.last ?? "") else {
      throw UsageError("help takes one command at a time")
    }
    return .help(command, action: action.name)
  }
}

extension ConfigurationSource {
  fileprivate init(_ options: OptionReader) {
    configPath = options.text("--config")
    flags.listen = options.texts("--listen")
    flags.data = options.text("--data")
    flags.upstreams = options.texts("--upstream")
    flags.allowsAnonymous = options.has("--allow-anonymous")
    flags.logLevel = options.text("--log-level")
    flags.logFormat = options.text("--log-format")
    flags.logsAccess = options.has("--log-access")
    flags.setsAsideDamaged = options.has("--set-aside-damaged")
    environmentFiles = options.texts("--environment-file")
    triesUpstreams = options.has("--try-upstreams")
    triesStore = options.has("--try-store")
  }
}

extension SinkOptions {
  fileprivate init(_ options: OptionReader) throws(UsageError) {
    let address = "an address and a port, such as 127.0.0.1:9090 or [::1]:9090"
    if let value = try options.value("--listen", expected: address, { SocketAddress($0) }) {
      listen = value
    }
    let status = try options.value("--status", expected: "a status from 200 to 599") {
      Int($0).flatMap { (200...599).contains($0) ? $0 : nil }
    }
    let failure = try options.value("--fail-with", expected: "a status from 400 to 599") {
      Int($0).flatMap { (400...599).contains($0) ? $0 : nil }
    }
    guard status == nil || failure == nil else {
      throw UsageError("--status and --fail-with both say how to answer; give one", to: .sink)
    }
    self.status = status ?? failure ?? self.status
    delayMs = try Self.duration("--delay", options)
    downForMs = try Self.duration("--down-for", options)
    record = options.text("--record")
    isQuiet = options.has("--quiet")
  }

  private static func duration(
    _ name: String, _ options: OptionReader
  ) throws(UsageError) -> Int64 {
    try options.value(name, expected: DurationText.form, DurationText.milliseconds) ?? 0
  }
}

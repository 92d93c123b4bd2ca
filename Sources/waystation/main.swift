import Glibc

let invocation: Invocation
do throws(UsageError) {
  invocation = try Invocation.parse(Array(CommandLine.arguments.dropFirst()))
} catch {
  StandardStream.error.line("\(error)")
  exit(ExitCode.usage.rawValue)
}

switch invocation {
case .serve: break
default:
  HangUp.ignoreWhileTerminalLasts()
  // Its help begins as the relay does.
  if case .help(.serve, _) = invocation { StopSignals.letThrough() }
}

let code =
  switch invocation {
  case .serve(let source): ServeCommand.run(source)
  case .sink(let options): SinkCommand.run(options)
  case .check(let source): CheckCommand.run(source)
  case .health(let server): HealthCommand.run(server: server)
  case .token(let options): TokenCommand.run(options)
  case .version: VersionCommand.run()
  case .store(let order): StoreCommand.run(order)
  case .keys(let order): KeysCommand.run(order)
  case .auditLane(let order): AuditLaneCommand.run(order)
  case .operate(let order): OperatorCommand.run(order)
  case .complete(let order): CompleteCommand.run(order)
  case .completions(let shell): CompletionScript.print(for: shell)
  case .man: ManualPage.print()
  case .help(let command, let action): HelpText.print(on: command, action)
  }
exit(code.rawValue)

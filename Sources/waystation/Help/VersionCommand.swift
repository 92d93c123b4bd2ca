import RelayServer

/// `waystation version`: the program's version, and its libraries'.
enum VersionCommand {
  static func run() -> ExitCode {
    StandardStream.output.line("waystation \(ReleaseVersion.number)")
    for library in ReleaseVersion.libraries { StandardStream.output.line(library) }
    return .good
  }
}

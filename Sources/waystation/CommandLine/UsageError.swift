import RelayServer

/// An invalid command line; it ends the program with ``ExitCode/usage``.
struct UsageError: Error, Equatable, CustomStringConvertible {
  /// The fault, with the word that is at fault.
  let reason: String
  /// The command that was meant; nil if it could not be told.
  let command: Command?

  init(_ reason: String, to command: Command? = nil) {
    self.reason = reason
    self.command = command
  }

  /// The reason, and a hint where to read more.
  var description: String {
    let name = command.map { "waystation \($0.rawValue)" } ?? "waystation"
    let help = command.map { "waystation help \($0.rawValue)" } ?? "waystation help"
    return "\(name): \(reason)\nRun '\(help)' to see what can be said."
  }

  static func unknownCommand(_ word: String) -> UsageError {
    let known = Command.allCases.map(\.rawValue)
    return UsageError("there is no command '\(word)'" + suggestion(for: word, among: known))
  }

  static func unknownOption(
    _ name: String, among rules: [OptionRule], to command: Command
  ) -> UsageError {
    let known = rules.map(\.name) + ["--help"]
    return UsageError(
      "there is no option '\(name)'" + suggestion(for: name, among: known), to: command)
  }

  private static func suggestion(for word: String, among known: [String]) -> String {
    NearestWord.find(word, in: known).map { "; did you mean '\($0)'?" } ?? ""
  }
}

/// The exit codes of the program.
enum ExitCode: Int32 {
  /// Success.
  case good = 0
  /// The command failed, or it was forced to end at once.
  case failed = 1
  /// The command line is invalid.
  case usage = 2
  /// `store check` could not check: there is no store, or it cannot be read.
  case unchecked = 3
  /// No relay answered.
  case unanswered = 4
  /// `status --fail-if-trouble` found something that needs a person.
  case trouble = 5
}

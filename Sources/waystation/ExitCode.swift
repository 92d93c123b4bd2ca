/// How the program ends.
enum ExitCode: Int32 {
  /// All is well.
  case good = 0
  /// It was understood, and did not work; or it was forced to end at once.
  case failed = 1
  /// The command line makes no sense.
  case usage = 2
  /// `store check` could not look: there is no store, or it may not be read.
  case unchecked = 3
  /// No relay answered.
  case unanswered = 4
  /// `status --fail-if-trouble`: something needs a person.
  case trouble = 5
}

/// A shell that can complete command lines.
enum Shell: String, CaseIterable {
  case bash, zsh, fish

  /// Reads what follows the word `completions`.
  static func parse(_ arguments: ArraySlice<String>) throws(UsageError) -> Shell {
    let options = try OptionReader(
      arguments, of: .completions, operand: Command.completions.spec.operand)
    let word = options.operands.first ?? ""
    guard let shell = Shell(rawValue: word) else {
      throw UsageError(
        "there are completions for bash, zsh and fish, not for '\(word)'", to: .completions)
    }
    return shell
  }
}

/// All there is to say of a command: the parser, the help, the completions of shells and the manual
/// are made of it.
struct CommandSpec {
  /// A few words, for the list of commands.
  let summary: String
  /// The first sentence of its help.
  let about: String
  /// What can be done with it, where that is said by a second word.
  var actions: [ActionSpec] = []
  /// What may stand behind the command itself, as in `[FILE]`.
  var operand: Operand?
  /// Options of the command, or of all its actions.
  var options: [OptionRule] = []
  /// What else there is to know, each wrapped to the width of a terminal.
  var notes: [String] = []
  /// Its exit codes, in a sentence.
  var exits: String?
  /// Command lines that make sense.
  var examples: [String] = []

  func action(_ word: String) -> ActionSpec? { actions.first { $0.name == word } }
}

/// What stands behind a command or an action, without an option's name.
struct Operand: Equatable {
  /// What it is called, in capitals.
  let name: String
  var isRequired = true
  var isRepeatable = false
  /// The words that it may be, if there are only a few.
  var words: [String] = []

  var usage: String {
    let many = isRepeatable ? "\(name)…" : name
    return isRequired ? many : "[\(many)]"
  }
}

/// One thing that a command does.
struct ActionSpec {
  let name: String
  let summary: String
  var operand: Operand?
  /// Options that only this one takes.
  var options: [OptionRule] = []
}

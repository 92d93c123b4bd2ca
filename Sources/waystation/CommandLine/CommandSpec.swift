/// The description of a command, from which the parser, the help, the completions and the manual
/// are made.
struct CommandSpec {
  /// A few words, for the list of commands.
  let summary: String
  /// The first sentence of its help.
  let about: String
  /// The actions, if a second word chooses among them.
  var actions: [ActionSpec] = []
  /// The operand of the command itself, as in `[FILE]`.
  var operand: Operand?
  /// The options of the command, or of all its actions.
  var options: [OptionRule] = []
  /// Further paragraphs of the help, each wrapped to the width of a terminal.
  var notes: [String] = []
  /// Its exit codes, in a sentence.
  var exits: String?
  /// Sample command lines.
  var examples: [String] = []

  func action(_ word: String) -> ActionSpec? { actions.first { $0.name == word } }
}

/// An argument of a command or an action that belongs to no option.
struct Operand: Equatable {
  /// Its name, in capitals.
  let name: String
  var isRequired = true
  var isRepeatable = false
  /// The words that it may be, if there are only a few.
  var words: [String] = []
  /// The names that it may be, if it is one that the relay knows.
  var names: NameKind?

  var usage: String {
    let many = isRepeatable ? "\(name)…" : name
    return isRequired ? many : "[\(many)]"
  }
}

/// An action of a command.
struct ActionSpec {
  let name: String
  let summary: String
  var operand: Operand?
  /// The options that only this action takes.
  var options: [OptionRule] = []
}

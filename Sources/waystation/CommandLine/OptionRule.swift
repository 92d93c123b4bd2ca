/// An option of a command, as the parser, the help, the completions and the manual know it.
struct OptionRule: Equatable {
  /// The kind of value that an option takes.
  enum Value: Equatable {
    /// No value.
    case none
    /// A text, with its name in the help.
    case text(String)
    /// A name that the relay knows.
    case name(NameKind)
    case file
    case folder
    /// One of these words.
    case choice([String])
    /// Some of these words, with commas between.
    case choices([String])
  }

  /// The option as written, such as `--listen`.
  let name: String
  let value: Value
  /// Whether it may be given more than once.
  let isRepeatable: Bool
  /// Its purpose, in a few words.
  let help: String

  /// Whether it takes no value.
  var isSwitch: Bool { value == .none }

  /// The option with its value, as in `--listen ADDR:PORT`.
  var usage: String {
    switch value {
    case .none: name
    case .text(let word): "\(name) \(word)"
    case .name: "\(name) NAME"
    case .file: "\(name) FILE"
    case .folder: "\(name) DIR"
    case .choice(let words):
      words.count < 4 ? "\(name) \(words.joined(separator: "|"))" : "\(name) WORD"
    case .choices: "\(name) WORDS"
    }
  }

  static func flag(_ name: String, _ help: String) -> OptionRule {
    OptionRule(name: name, value: .none, isRepeatable: false, help: help)
  }

  static func text(
    _ name: String, _ word: String, _ help: String, isRepeatable: Bool = false
  ) -> OptionRule {
    OptionRule(name: name, value: .text(word), isRepeatable: isRepeatable, help: help)
  }

  static func name(_ name: String, _ kind: NameKind, _ help: String) -> OptionRule {
    OptionRule(name: name, value: .name(kind), isRepeatable: false, help: help)
  }

  static func file(
    _ name: String, _ help: String, isRepeatable: Bool = false
  ) -> OptionRule {
    OptionRule(name: name, value: .file, isRepeatable: isRepeatable, help: help)
  }

  static func folder(_ name: String, _ help: String) -> OptionRule {
    OptionRule(name: name, value: .folder, isRepeatable: false, help: help)
  }

  static func choice(_ name: String, _ words: [String], _ help: String) -> OptionRule {
    OptionRule(name: name, value: .choice(words), isRepeatable: false, help: help)
  }

  static func choices(_ name: String, _ words: [String], _ help: String) -> OptionRule {
    OptionRule(name: name, value: .choices(words), isRepeatable: false, help: help)
  }
}

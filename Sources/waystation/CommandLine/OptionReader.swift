/// The options of one command line, parsed by that command's rules.
///
/// `--name value` and `--name=value` are the same. Words that are no options are refused, not
/// ignored, by a command that takes none.
struct OptionReader: Equatable {
  private var values: [String: [String]] = [:]
  /// The words that are not options, in order.
  private(set) var operands: [String] = []
  private let command: Command

  /// - Parameters:
  ///   - rules: The options that are accepted; nil for the command's own.
  ///   - operand: The words that are accepted beside options; nil for none.
  init(
    _ arguments: ArraySlice<String>, of command: Command, taking rules: [OptionRule]? = nil,
    operand: Operand? = nil
  ) throws(UsageError) {
    let rules = rules ?? command.options
    self.command = command
    var rest = arguments
    while let argument = rest.popFirst() {
      let (name, attached) = Self.split(argument)
      if let operand, !argument.hasPrefix("-") || argument == "-",
        operands.isEmpty || operand.isRepeatable
      {
        operands.append(argument)
        continue
      }
      guard name.hasPrefix("-"), name != "-" else {
        throw UsageError(
          "'\(argument)' is not an option, and no other argument is allowed", to: command)
      }
      guard let rule = rules.first(where: { $0.name == name }) else {
        throw .unknownOption(name, among: rules, to: command)
      }
      let value = try Self.value(of: rule, attached: attached, rest: &rest, command)
      guard rule.isRepeatable || values[name] == nil else {
        throw UsageError("\(name) is given twice", to: command)
      }
      if case .choice(let words) = rule.value, Self.isStrict(command), !words.contains(value) {
        throw UsageError(
          "\(name) takes \(words.joined(separator: ", ")), not '\(value)'", to: command)
      }
      values[name, default: []].append(value)
    }
    if let operand, operand.isRequired, operands.isEmpty {
      throw UsageError("\(operand.name) is missing", to: command)
    }
  }

  /// Whether the option was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// The option's first value; nil if it was not given.
  func text(_ name: String) -> String? { values[name]?.first }

  /// The option's values, in order.
  func texts(_ name: String) -> [String] { values[name] ?? [] }

  /// The option's value, parsed.
  ///
  /// - Parameter expected: A description of a valid value, for the error message.
  func value<Value>(
    _ name: String, expected: String, _ parse: (String) -> Value?
  ) throws(UsageError) -> Value? {
    guard let text = text(name) else { return nil }
    guard let value = parse(text) else {
      throw UsageError("\(name) takes \(expected), not '\(text)'", to: command)
    }
    return value
  }

  /// Whether the reader checks the words of a choice; the other commands check theirs with messages
  /// of their own.
  private static func isStrict(_ command: Command) -> Bool {
    ![.serve, .check, .token].contains(command)
  }

  private static func split(_ argument: String) -> (name: String, attached: String?) {
    guard argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") else {
      return (argument, nil)
    }
    return (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
  }

  private static func value(
    of rule: OptionRule, attached: String?, rest: inout ArraySlice<String>, _ command: Command
  ) throws(UsageError) -> String {
    if rule.isSwitch {
      guard attached == nil else { throw UsageError("\(rule.name) takes no value", to: command) }
      return ""
    }
    // A word that looks like the next option is one: more likely, a value was forgotten.
    let next = rest.first.flatMap { $0.hasPrefix("--") ? nil : $0 }
    guard let value = attached ?? next, !value.isEmpty else {
      throw UsageError("\(rule.name) needs a value", to: command)
    }
    if attached == nil { rest.removeFirst() }
    return value
  }
}

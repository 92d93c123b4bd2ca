/// The options of one command line, taken apart by that command's rules.
///
/// `--name value` and `--name=value` are the same. Words that are no options are refused where none
/// are taken, rather than ignored.
struct OptionReader: Equatable {
  private var values: [String: [String]] = [:]
  /// The words that are not options, in order.
  private(set) var operands: [String] = []
  private let command: Command

  /// - Parameters:
  ///   - rules: The options that are taken; nil for the command's own.
  ///   - operand: What is taken beside options; nil for nothing.
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
        throw UsageError("'\(argument)' is not an option, and nothing else is taken", to: command)
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

  /// Whether the option was given at all.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// Its value, if it was given.
  func text(_ name: String) -> String? { values[name]?.first }

  /// Its values, in order.
  func texts(_ name: String) -> [String] { values[name] ?? [] }

  /// Its value as something more than text.
  ///
  /// - Parameter expected: What should stand there, for the sentence about what does not.
  func value<Value>(
    _ name: String, expected: String, _ parse: (String) -> Value?
  ) throws(UsageError) -> Value? {
    guard let text = text(name) else { return nil }
    guard let value = parse(text) else {
      throw UsageError("\(name) takes \(expected), not '\(text)'", to: command)
    }
    return value
  }

  /// The others have always looked at their words by themselves, with sentences of their own.
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
    // What looks like the next option is one: it is likelier that a value was forgotten.
    let next = rest.first.flatMap { $0.hasPrefix("--") ? nil : $0 }
    guard let value = attached ?? next, !value.isEmpty else {
      throw UsageError("\(rule.name) needs a value", to: command)
    }
    if attached == nil { rest.removeFirst() }
    return value
  }
}

/// The texts of `help`, at most 80 columns wide, made from the table of commands.
enum HelpText {
  static let columnsMax = 80
  /// The column at which the descriptions of options begin.
  private static let optionIndent = 24

  /// The help on a command; nil for the list of all.
  static func text(on command: Command?) -> String {
    guard let command, command != .help else { return overview }
    let spec = command.spec
    var parts = [wrapped(spec.about), usage(command).joined(separator: "\n")]
    if !spec.actions.isEmpty { parts.append(actions(spec)) }
    let rules = spec.options + [.flag("-h, --help", "print this")]
    parts.append(rules.map(option).joined(separator: "\n"))
    for action in spec.actions {
      let own = action.options.filter { rule in !spec.options.contains(rule) }
      guard !own.isEmpty else { continue }
      parts.append("\(action.name):\n\n" + own.map(option).joined(separator: "\n"))
    }
    parts += spec.notes.map { wrapped($0) }
    if let exits = spec.exits { parts.append(wrapped("Exit codes: \(exits)")) }
    if !spec.examples.isEmpty {
      let title = spec.examples.count == 1 ? "Example" : "Examples"
      parts.append("\(title):\n\n" + spec.examples.map(example).joined(separator: "\n"))
    }
    return parts.joined(separator: "\n\n")
  }

  /// Prints the help on standard output.
  static func print(on command: Command?) -> ExitCode {
    StandardStream.output.line(text(on: command))
    return .good
  }

  /// The usage lines of a command, without a description of its options.
  static func usage(_ command: Command) -> [String] {
    let spec = command.spec
    let start = "Usage: waystation \(command.rawValue)"
    let options = spec.options.isEmpty ? "" : " [OPTIONS]"
    guard !spec.actions.isEmpty else {
      return [start + (spec.operand.map { " \($0.usage)" } ?? "") + options]
    }
    return spec.actions.enumerated().map { index, action in
      let line = index == 0 ? start : "       waystation \(command.rawValue)"
      let more = action.options.isEmpty ? options : " [OPTIONS]"
      return "\(line) \(action.name)" + (action.operand.map { " \($0.usage)" } ?? "") + more
    }
  }

  private static func actions(_ spec: CommandSpec) -> String {
    spec.actions.map { action in
      let name = "  \(action.name)" + (action.operand.map { " \($0.usage)" } ?? "")
      return entry(name, action.summary)
    }
    .joined(separator: "\n")
  }

  private static func option(_ rule: OptionRule) -> String { entry("  \(rule.usage)", rule.help) }

  private static func entry(_ name: String, _ words: String) -> String {
    let blank = String(repeating: " ", count: optionIndent)
    let lines = wrap(words, to: columnsMax - optionIndent)
    guard name.count <= optionIndent - 2 else {
      return ([name] + lines.map { blank + $0 }).joined(separator: "\n")
    }
    let first = name + String(repeating: " ", count: optionIndent - name.count)
    return ([first + (lines.first ?? "")] + lines.dropFirst().map { blank + $0 })
      .joined(separator: "\n")
  }

  private static func example(_ line: String) -> String {
    wrap(line, to: columnsMax - 6).enumerated()
      .map { $0 == 0 ? "  \($1)" : "    \($1)" }.joined(separator: " \\\n")
  }

  private static func wrapped(_ text: String) -> String {
    wrap(text, to: columnsMax).joined(separator: "\n")
  }

  /// Wraps a text between words.
  static func wrap(_ text: String, to width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += line.isEmpty ? String(word) : " \(word)"
    }
    return line.isEmpty ? lines : lines + [line]
  }

  private static let overview: String = {
    func list(_ commands: [Command]) -> String {
      commands.map { command in
        let name = "  \(command.rawValue)"
        return name + String(repeating: " ", count: 15 - name.count) + command.spec.summary
      }
      .joined(separator: "\n")
    }
    return """
      Waystation takes HTTP requests from devices that are online only now and then,
      stores them safely, and forwards them in order until the upstream has answered.

      Usage: waystation COMMAND [OPTIONS]

      The relay and its tools:

      \(list([.serve, .sink, .check, .store, .health]))

      Ask and steer a running relay:

      \(list([
        .status, .envelopes, .clients, .lanes, .upstreams, .events, .operations, .audit, .token,
      ]))

      Envelopes from and to files:

      \(list([.send, .export, .importing]))

      This program:

      \(list([.completions, .man, .version, .help]))

      To see it work, run each of these in its own terminal, in this order:

        waystation sink
        waystation serve --upstream default=http://127.0.0.1:9090
        waystation send --client truck-7 --path /readings/1
        waystation status

      Exit codes: 0 all is well, 1 it did not work, 2 the command line is wrong, 3 a
      store could not be checked, 4 no relay answered, 5 something needs a person.
      """
  }()
}

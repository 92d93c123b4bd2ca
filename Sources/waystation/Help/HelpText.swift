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
    parts += ownOptions(of: spec)
    parts += spec.notes.map { wrapped($0) }
    if let exits = spec.exits { parts.append(wrapped("Exit codes: \(exits)")) }
    if !spec.examples.isEmpty {
      let title = spec.examples.count == 1 ? "Example" : "Examples"
      parts.append("\(title):\n\n" + spec.examples.map(example).joined(separator: "\n"))
    }
    return parts.joined(separator: "\n\n")
  }

  /// The help on one action of a command.
  static func text(on command: Command, _ action: ActionSpec) -> String {
    let spec = command.spec
    let usage = usage(command).first { $0.contains(" \(command.rawValue) \(action.name)") }
    let summary = action.summary.prefix(1).uppercased() + action.summary.dropFirst() + "."
    let own = action.options.filter { rule in !spec.options.contains(rule) }
    var parts = [
      wrapped(summary), "Usage: " + (usage ?? "").drop { $0 == " " }.replacing("Usage: ", with: ""),
    ]
    if !own.isEmpty { parts.append(own.map(option).joined(separator: "\n")) }
    let rules = spec.options + [.flag("-h, --help", "print this")]
    parts.append(rules.map(option).joined(separator: "\n"))
    if let operand = action.operand, operand.isRepeatable {
      parts += spec.notes.map { wrapped($0) }
    }
    if let exits = spec.exits { parts.append(wrapped("Exit codes: \(exits)")) }
    let examples = spec.examples.filter { line in
      line.hasPrefix("waystation \(command.rawValue) \(action.name)")
    }
    if !examples.isEmpty {
      parts.append(
        "\(examples.count == 1 ? "Example" : "Examples"):\n\n"
          + examples.map(example).joined(separator: "\n"))
    }
    return parts.joined(separator: "\n\n")
  }

  /// What only some actions take; those that take the same first stand together.
  private static func ownOptions(of spec: CommandSpec) -> [String] {
    let all = spec.actions.map { action in
      (action.name, action.options.filter { rule in !spec.options.contains(rule) })
    }.filter { !$0.1.isEmpty }
    // The options that several begin with are told once.
    guard
      let shared = all.first?.1.prefix(while: { rule in all.count { $0.1.contains(rule) } > 2 }),
      !shared.isEmpty
    else {
      return all.map { name, own in "\(name):\n\n" + own.map(option).joined(separator: "\n") }
    }
    let names = all.filter { $0.1.starts(with: shared) }.map(\.0)
    return ["\(names.joined(separator: ", ")):\n\n" + shared.map(option).joined(separator: "\n")]
      + all.compactMap { name, own in
        let rest = own.filter { !(names.contains(name) && shared.contains($0)) }
        guard !rest.isEmpty else { return nil }
        return "\(name)\(names.contains(name) ? ", also" : ""):\n\n"
          + rest.map(option).joined(separator: "\n")
      }
  }

  /// Prints the help on standard output.
  static func print(on command: Command?, _ action: String?) -> ExitCode {
    let spec = action.flatMap { command?.spec.action($0) }
    if let command, let spec {
      StandardStream.output.line(text(on: command, spec))
    } else {
      StandardStream.output.line(text(on: command))
    }
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

      \(list([.serve, .sink, .check, .store, .keys, .auditLane, .health]))

      Ask and steer a running relay:

      \(list([
        .status, .envelopes, .clients, .lanes, .uploads, .upstreams, .events, .operations, .audit,
        .token,
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

import RelayServer

/// The manual page as roff (man(7)), made from the table of commands.
enum ManualPage {
  static func print() -> ExitCode {
    StandardStream.output.line(text())
    return .good
  }

  static func text() -> String {
    var lines = [
      ".TH WAYSTATION 1 \"\" \"waystation \(roff(ReleaseVersion.number))\" \"User Commands\"",
      ".SH NAME", "waystation \\- an HTTP store\\-and\\-forward relay",
      ".SH SYNOPSIS", ".B waystation", ".I COMMAND", "[\\fIOPTIONS\\fR]",
      ".SH DESCRIPTION",
      "Waystation takes HTTP requests from devices that are online only now and then, stores them",
      "safely, and forwards them in order until the upstream has answered.",
      ".SH COMMANDS",
    ]
    for command in Command.allCases { lines += section(command) }
    lines += [
      ".SH ENVIRONMENT", ".TP", ".B WAYSTATION_SERVER",
      "The relay to ask: http://..., https://... or unix:/PATH.",
      ".TP", ".B WAYSTATION_TOKEN", "The operator's token.",
      ".TP", ".B WAYSTATION_DATA", "The data folder.",
      ".TP", ".B NO_COLOR", "If it is not empty, nothing is coloured.",
      ".SH EXIT STATUS", ".TP", "0", "All is well.", ".TP", "1", "It did not work.", ".TP", "2",
      "The command line is wrong.", ".TP", "3", "A store could not be checked.", ".TP", "4",
      "No relay answered.", ".TP", "5",
      "With \\fBstatus \\-\\-fail\\-if\\-trouble\\fR: something needs a person.",
    ]
    return lines.joined(separator: "\n")
  }

  private static func section(_ command: Command) -> [String] {
    let spec = command.spec
    var lines = [".SS \(roff(command.rawValue))", roff(spec.about), ".PP", ".nf"]
    lines += HelpText.usage(command).map { line in
      roff(line.replacingPrefix("Usage: ").drop { $0 == " " })
    }
    lines += [".fi"]
    for rule in spec.options { lines += entry(rule) }
    for action in spec.actions {
      let usage = action.name + (action.operand.map { " \($0.usage)" } ?? "")
      lines += [".TP", "\\fB\(roff(usage))\\fR", roff(action.summary)]
      let own = action.options.filter { !spec.options.contains($0) }
      if !own.isEmpty { lines += [".RS"] + own.flatMap(entry) + [".RE"] }
    }
    for note in spec.notes { lines += [".PP", roff(note)] }
    if let exits = spec.exits { lines += [".PP", roff("Exit codes: \(exits)")] }
    if !spec.examples.isEmpty {
      lines += [".PP", ".nf"] + spec.examples.map { roff($0) } + [".fi"]
    }
    return lines
  }

  private static func entry(_ rule: OptionRule) -> [String] {
    [".TP", "\\fB\(roff(rule.usage))\\fR", roff(rule.help)]
  }

  /// A text in which roff finds no requests or escapes.
  static func roff(_ text: some StringProtocol) -> String {
    let escaped = text.reduce(into: "") { escaped, character in
      switch character {
      case "\\": escaped += "\\e"
      case "-": escaped += "\\-"
      case "…": escaped += "..."
      case "'": escaped += "\\(aq"
      case "~": escaped += "\\(ti"
      case "^": escaped += "\\(ha"
      default: escaped.append(character)
      }
    }
    return escaped.hasPrefix(".") ? "\\&" + escaped : escaped
  }
}

extension String {
  fileprivate func replacingPrefix(_ prefix: String) -> Substring {
    hasPrefix(prefix) ? dropFirst(prefix.count) : self[...]
  }
}

/// Scripts that complete command lines in shells, made from the table of commands.
enum CompletionScript {
  static func print(for shell: Shell) -> ExitCode {
    StandardStream.output.line(text(for: shell))
    return .good
  }

  static func text(for shell: Shell) -> String {
    switch shell {
    case .bash: bash
    case .zsh: zsh
    case .fish: fish
    }
  }

  /// The options of a command, or of one of its actions.
  private static func rules(_ command: Command, _ action: ActionSpec?) -> [OptionRule] {
    command.spec.options + (action?.options.filter { !command.spec.options.contains($0) } ?? [])
  }

  /// A case for a command or an action: its words, its options and its operands.
  private struct Case {
    let words: [String]
    let rules: [OptionRule]
    let operands: [String]
    /// Whether it takes a file as operand.
    var takesFile = false
    /// The names that its operand may be, for which the relay is asked.
    var names: NameKind?
  }

  private static var cases: [Case] {
    Command.allCases.flatMap { command -> [Case] in
      let spec = command.spec
      let own = Case(
        words: [command.rawValue], rules: spec.actions.isEmpty ? spec.options : [],
        operands: spec.actions.isEmpty ? spec.operand?.words ?? [] : spec.actions.map(\.name),
        takesFile: spec.operand?.name == "FILE", names: spec.operand?.names)
      return [own]
        + spec.actions.map { action in
          Case(
            words: [command.rawValue, action.name], rules: rules(command, action),
            operands: action.operand?.words ?? [], names: action.operand?.names)
        }
    }
  }

  // MARK: - bash

  private static var bash: String {
    let commands = Command.allCases.map(\.rawValue).joined(separator: " ")
    var lines =
      [
        "# Completes command lines of waystation in bash.",
        "_waystation_files() {",
        "  compopt -o filenames 2>/dev/null",
        "  mapfile -t COMPREPLY < <(compgen \"$1\" -- \"${COMP_WORDS[COMP_CWORD]}\")",
        "}",
      ] + bashNames + [
        "_waystation() {",
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} what words=''",
        "  COMPREPLY=()",
        "  if ((COMP_CWORD == 1)); then",
        "    mapfile -t COMPREPLY < <(compgen -W '\(commands)' -- \"$cur\")",
        "    return",
        "  fi",
        "  what=${COMP_WORDS[1]}",
        "  case \"$what\" in",
        "    \(withActions.joined(separator: " | ")))",
        "      if ((COMP_CWORD > 2)); then what+=\" ${COMP_WORDS[2]}\"; fi ;;",
        "  esac",
        "  case \"$what:$prev\" in",
      ]
    for one in cases {
      for rule in one.rules where rule.value != .none {
        let deed: String
        switch rule.value {
        case .file: deed = "_waystation_files -f"
        case .folder: deed = "_waystation_files -d"
        case .name(let kind): deed = "_waystation_names \(kind.rawValue)"
        case .choice(let words), .choices(let words):
          deed =
            "mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$cur\")"
        default: deed = ":"
        }
        lines.append("    '\(one.words.joined(separator: " ")):\(rule.name)') \(deed); return ;;")
      }
    }
    lines += ["  esac", "  case \"$what\" in"]
    for one in cases {
      let words = one.operands + one.rules.map(\.name) + ["--help"]
      let operand =
        one.takesFile
        ? "_waystation_files -f" : one.names.map { "_waystation_names \($0.rawValue)" }
      let deed = operand.map { "if [[ $cur != -* ]]; then \($0); return; fi; " } ?? ""
      lines.append(
        "    '\(one.words.joined(separator: " "))') " + deed
          + "words='\(words.joined(separator: " "))' ;;")
    }
    lines += [
      "  esac", "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")", "}",
      "complete -F _waystation waystation",
    ]
    return lines.joined(separator: "\n")
  }

  /// The function that asks the relay for names.
  ///
  /// Names come from strangers: each is quoted, and none goes through `compgen -W`, which would
  /// carry out what it finds in them. bash puts a completion in place of what stands behind the
  /// last `:`, `=` or `@`, so what is before that is cut off.
  private static let bashNames = [
    "_waystation_names() {",
    "  local line=${COMP_LINE:0:COMP_POINT} full cut name quoted",
    "  local -a typed",
    "  full=${line##*[[:space:]]}",
    "  read -ra typed <<<\"$line\"",
    "  cut=${full%\"${full##*[:=@]}\"}",
    "  while IFS= read -r name; do",
    "    [[ $name == \"$full\"* ]] || continue",
    "    printf -v quoted '%q' \"${name#\"$cut\"}\"",
    "    COMPREPLY+=(\"$quoted\")",
    "    if [[ $name == */ ]]; then compopt -o nospace 2>/dev/null; fi",
    "  done < <(\"${COMP_WORDS[0]/#\\~/$HOME}\" \(CompleteOrder.word) \"$1\" \"$full\" \\",
    "    \"${typed[@]}\" 2>/dev/null)",
    "}",
  ]

  private static var withActions: [String] {
    Command.allCases.filter { !$0.spec.actions.isEmpty }.map(\.rawValue)
  }

  // MARK: - zsh

  /// A text for use within single quotes of zsh's `_arguments`.
  private static func zshText(_ text: String) -> String {
    text.reduce(into: "") { escaped, character in
      switch character {
      case "'": escaped += "'\\''"
      case "[", "]", ":", "\\": escaped += "\\\(character)"
      default: escaped.append(character)
      }
    }
  }

  private static func zshSpec(_ rule: OptionRule) -> String {
    let star = rule.isRepeatable ? "*" : ""
    let help = zshText(rule.help)
    let value =
      switch rule.value {
      case .none: ""
      case .text(let word): ":\(zshText(word)): "
      case .name(let kind): ":name:_waystation_names \(kind.rawValue)"
      case .file: ":file:_files"
      case .folder: ":folder:_files -/"
      case .choice(let words), .choices(let words): ":word:(\(words.joined(separator: " ")))"
      }
    return "'\(star)\(rule.name)[\(help)]\(value)'"
  }

  private static func zshCase(_ one: Case) -> String {
    let name = one.words.joined(separator: " ")
    let words =
      one.operands.isEmpty ? [] : ["'1:word:(\(one.operands.joined(separator: " ")))'"]
    let file = one.takesFile ? ["'1:file:_files'"] : []
    let names = one.names.map { ["'1:name:_waystation_names \($0.rawValue)'"] } ?? []
    let specs = one.rules.map(zshSpec) + ["'--help[print the help]'"] + words + file + names
    return "    '\(name)')\n      _arguments \(specs.joined(separator: " \\\n        ")) ;;"
  }

  /// The function that asks the relay for names; `compadd` quotes them.
  private static let zshNames = [
    "_waystation_names() {",
    // `_arguments` puts arguments for `compadd` before the kind.
    "  local kind=${@[-1]}",
    "  local -a names",
    "  names=(${(f)\"$(\"${waystation_line[1]/#\\~/$HOME}\" \(CompleteOrder.word) $kind \\",
    "    \"${(Q)PREFIX}\" \"${(@)waystation_line}\" 2>/dev/null)\"})",
    "  compadd \"${@[1,-2]}\" -S '' -- ${(M)names:#*/}",
    "  compadd \"${@[1,-2]}\" -- ${names:#*/}",
    "}",
  ]

  private static var zsh: String {
    let commands = Command.allCases.map { "    '\($0.rawValue):\(zshText($0.spec.summary))'" }
    return
      (["#compdef waystation", "# Completes command lines of waystation in zsh."] + zshNames + [
        "_waystation() {", "  local -a commands waystation_line",
        "  waystation_line=(\"${(@)words[1,CURRENT]}\")", "  commands=(",
      ] + commands + [
        "  )", "  if ((CURRENT == 2)); then",
        "    _describe 'command' commands", "    return", "  fi",
        "  local what=$words[2]", "  shift words", "  ((CURRENT--))", "  case $what in",
        "    \(withActions.joined(separator: "|")))",
        "      if ((CURRENT > 2)); then", "        what+=\" $words[2]\"", "        shift words",
        "        ((CURRENT--))", "      fi ;;", "  esac", "  case $what in",
      ] + cases.map(zshCase) + [
        "  esac", "}", "if [ \"$funcstack[1]\" = _waystation ]; then", "  _waystation \"$@\"",
        "else", "  compdef _waystation waystation", "fi",
      ])
      .joined(separator: "\n")
  }

  // MARK: - fish

  private static func fishText(_ text: String) -> String {
    text.reduce(into: "") { $0 += $1 == "'" || $1 == "\\" ? "\\\($1)" : "\($1)" }
  }

  private static func fishSpec(_ rule: OptionRule) -> String {
    let value =
      switch rule.value {
      case .none: ""
      case .text: " -x"
      case .name(let kind): " -x -a '(__waystation_names \(kind.rawValue))'"
      case .file: " -r -F"
      case .folder: " -x -a '(__fish_complete_directories)'"
      case .choice(let words), .choices(let words): " -x -a '\(words.joined(separator: " "))'"
      }
    return " -l \(rule.name.dropFirst(2))\(value) -d '\(fishText(rule.help))'"
  }

  private static var fish: String {
    var lines = [
      "# Completes command lines of waystation in fish.",
      "function __waystation_at",
      "  set -l words (commandline -opc)",
      "  test \"$words[2]\" = \"$argv[1]\"; or return 1",
      "  test (count $argv) -eq 1; or test \"$words[3]\" = \"$argv[2]\"",
      "end",
      "function __waystation_begins",
      "  set -l words (commandline -opc)",
      "  test (count $words) -eq 2; and test \"$words[2]\" = \"$argv[1]\"",
      "end",
      "function __waystation_names",
      "  set -l words (commandline -opc)",
      "  set -l current (commandline -ct | string replace -r '^--[a-z-]+=' '')",
      "  $words[1] \(CompleteOrder.word) $argv[1] \"$current\" $words 2>/dev/null",
      "end",
      "complete -c waystation -f",
    ]
    for command in Command.allCases {
      lines.append(
        "complete -c waystation -n __fish_use_subcommand -a \(command.rawValue)"
          + " -d '\(fishText(command.spec.summary))'")
      for action in command.spec.actions {
        lines.append(
          "complete -c waystation -n '__waystation_begins \(command.rawValue)' -a \(action.name)"
            + " -d '\(fishText(action.summary))'")
      }
    }
    for one in cases {
      let seen = "complete -c waystation -n '__waystation_at \(one.words.joined(separator: " "))'"
      lines += one.rules.map { seen + fishSpec($0) }
      if one.takesFile { lines.append(seen + " -F") }
      if let names = one.names {
        lines.append(seen + " -a '(__waystation_names \(names.rawValue))'")
      }
      if !one.operands.isEmpty, withActions.allSatisfy({ [$0] != one.words }) {
        lines.append(seen + " -a '\(one.operands.joined(separator: " "))'")
      }
    }
    return lines.joined(separator: "\n")
  }
}

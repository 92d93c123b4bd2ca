/// The commands, each by the word that names it.
enum Command: String, CaseIterable {
  case serve, sink, check, store, health, token
  case status, envelopes, clients, lanes, upstreams, events
  case send, export
  case importing = "import"
  case completions, man, version, help

  /// What the table says of it.
  var spec: CommandSpec { CommandTable.spec(of: self) }

  /// All options that it takes, whatever it is told to do, besides `--help`.
  var options: [OptionRule] {
    var rules: [OptionRule] = []
    for rule in spec.options + spec.actions.flatMap(\.options)
    where !rules.contains(where: { $0.name == rule.name }) {
      rules.append(rule)
    }
    return rules
  }
}

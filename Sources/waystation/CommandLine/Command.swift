/// The commands, each by the word that names it.
enum Command: String, CaseIterable {
  case serve, sink, check, store, keys, health, token
  case status, envelopes, clients, lanes, uploads, upstreams, events, operations, audit
  case auditLane = "audit-lane"
  case send, export
  case importing = "import"
  case completions, man, version, help

  /// The command's entry in the table.
  var spec: CommandSpec { CommandTable.spec(of: self) }

  /// All options of the command and its actions, besides `--help`.
  var options: [OptionRule] {
    var rules: [OptionRule] = []
    for rule in spec.options + spec.actions.flatMap(\.options)
    where !rules.contains(where: { $0.name == rule.name }) {
      rules.append(rule)
    }
    return rules
  }
}

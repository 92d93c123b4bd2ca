/// The commands, each by the word that names it.
enum Command: String, CaseIterable {
  case serve, sink, check, store, health, token, version, help

  /// The options that it takes, besides `--help`.
  var options: [OptionRule] {
    switch self {
    case .serve: OptionRule.configuration + [OptionRule("--set-aside-damaged", isSwitch: true)]
    case .check: OptionRule.configuration
    case .store: OptionRule.store
    case .sink: OptionRule.sink
    case .health: [OptionRule("--server")]
    // Each of its actions has options of its own: TokenOptions.
    case .token, .version, .help: []
    }
  }
}

/// An option of a command; every one of them takes a value unless it is a switch.
struct OptionRule: Equatable {
  /// The option as it is written, such as `--listen`.
  let name: String
  /// Whether it stands alone, without a value.
  let isSwitch: Bool
  /// Whether it may be given more than once.
  let isRepeatable: Bool

  init(_ name: String, isSwitch: Bool = false, isRepeatable: Bool = false) {
    self.name = name
    self.isSwitch = isSwitch
    self.isRepeatable = isRepeatable
  }

  /// What `serve` can be told, and so what `check` can look at.
  static let configuration = [
    OptionRule("--config"),
    OptionRule("--listen", isRepeatable: true),
    OptionRule("--data"),
    OptionRule("--upstream", isRepeatable: true),
    OptionRule("--allow-anonymous", isSwitch: true),
    OptionRule("--log-level"),
    OptionRule("--log-format"),
  ]

  static let store = [
    OptionRule("--data"), OptionRule("--to"), OptionRule("--json", isSwitch: true),
  ]

  static let sink = [
    OptionRule("--listen"),
    OptionRule("--status"),
    OptionRule("--fail-with"),
    OptionRule("--delay"),
    OptionRule("--down-for"),
    OptionRule("--quiet", isSwitch: true),
  ]
}

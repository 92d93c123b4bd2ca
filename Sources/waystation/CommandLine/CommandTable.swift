/// The table of all commands.
enum CommandTable {
  static func spec(of command: Command) -> CommandSpec {
    switch command {
    case .serve: serve
    case .sink: sink
    case .check: check
    case .store: store
    case .keys: keys
    case .health: health
    case .token: token
    case .status: status
    case .envelopes: envelopes
    case .clients: clients
    case .lanes: lanes
    case .uploads: uploads
    case .upstreams: upstreams
    case .events: events
    case .operations: operations
    case .audit: audit
    case .auditLane: auditLane
    case .send: send
    case .export: export
    case .importing: importing
    case .completions: completions
    case .man: man
    case .version: version
    case .help: help
    }
  }

  private static let completions = CommandSpec(
    summary: "print the command line completions for a shell",
    about: "Print a script that lets a shell complete command lines of waystation.",
    operand: Operand(name: "SHELL", words: ["bash", "zsh", "fish"]),
    notes: [
      "Load it at the start of each shell, or put it where the shell looks for it.",
      "Names of upstreams, clients and lanes are completed by asking the relay that the command"
        + " line or WAYSTATION_SERVER names, for one second at most.",
    ],
    examples: [
      "waystation completions bash > /etc/bash_completion.d/waystation",
      "waystation completions zsh > /usr/local/share/zsh/site-functions/_waystation",
      "waystation completions fish > ~/.config/fish/completions/waystation.fish",
    ])

  private static let man = CommandSpec(
    summary: "print the manual page",
    about: "Print the manual page, as roff for man(1).",
    examples: [
      "waystation man | man -l -",
      "waystation man > /usr/local/share/man/man1/waystation.1",
    ])

  private static let version = CommandSpec(
    summary: "print the version",
    about: "Print the version, and those of the libraries in use.")

  private static let help = CommandSpec(
    summary: "print this, or help on a command: waystation help serve",
    about: "Print the list of commands, or help on one.",
    operand: Operand(name: "COMMAND", isRequired: false, words: Command.allCases.map(\.rawValue)))
}

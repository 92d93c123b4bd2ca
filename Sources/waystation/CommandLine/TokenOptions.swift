import EventLoop
import RelayCore

/// The parsed command line of `waystation token`.
struct TokenOptions: Equatable {
  /// The action, as the word after `token`.
  enum Action: String, CaseIterable {
    case create, list, revoke, renew, derive, hash
  }

  let action: Action
  /// All options that were given, among them those that name the relay.
  let given: OptionReader
  let client: String?
  let role: OperatorRole?
  let label: String?
  let expiresAt: WallTime?
  let renewableUntil: WallTime?
  /// The token to revoke.
  let id: String?
  /// The name of the key, followed by the file that holds its secret; nil if the environment holds
  /// it.
  let key: String?
  let secretFile: String?
  /// Whether to make a token, and not only to digest one.
  let isNew: Bool

  private init(_ action: Action, _ given: OptionReader) throws(UsageError) {
    self.action = action
    self.given = given
    client = given.text("--client")
    role = try given.value("--role", expected: "read or steer", OperatorRole.init)
    label = given.text("--label")
    let now = WallClock.now()
    expiresAt = try given.value("--expires-at", expected: TimeText.formAhead) {
      TimeText.time($0, after: now)
    }
    renewableUntil = try given.value("--renewable-until", expected: TimeText.formAhead) {
      TimeText.time($0, after: now)
    }
    id = given.operands.first ?? given.text("--id")
    key = given.text("--key")
    secretFile = given.text("--secret-file")
    isNew = given.has("--new")
  }

  /// The options of an action.
  static func rules(of action: Action) -> [OptionRule] {
    let relay = CommandTable.relay + [CommandTable.json]
    switch action {
    case .create:
      return relay + [
        .name("--client", .clients, "whose it is"),
        .choice("--role", ["read", "steer"], "an operator's, who may read, or also steer"),
        .text("--label", "TEXT", "what the token is for"),
        .text(
          "--expires-at", "TIME", "when it expires, as in 2027-01-01T00:00:00Z, or 30d from now"),
        .text("--renewable-until", "TIME", "until when its client may renew it"),
      ]
    case .list: return relay + [.name("--client", .clients, "only this client's")]
    case .revoke: return relay + [.text("--id", "ID", "which one, in place of ID")]
    case .renew: return relay
    case .derive:
      return [
        .text("--key", "NAME", "the key's name in the configuration"),
        .text("--client", "NAME", "whose it is"),
        .file("--secret-file", "the key's secret (WAYSTATION_KEY_SECRET)"),
      ]
    case .hash:
      return [
        .flag("--new", "make a token first"),
        .file("--token-file", "the operator's token (WAYSTATION_TOKEN)"),
      ]
    }
  }

  /// Parses what follows the word `token`.
  static func parse(_ arguments: ArraySlice<String>) throws(UsageError) -> TokenOptions {
    let words = Action.allCases.map(\.rawValue)
    guard let word = arguments.first else {
      throw UsageError("say what to do: \(words.joined(separator: ", "))", to: .token)
    }
    guard let action = Action(rawValue: word) else {
      throw UsageError(
        "there is no 'token \(word)'; there is \(words.joined(separator: ", "))",
        to: .token)
    }
    let given = try OptionReader(
      arguments.dropFirst(), of: .token, taking: rules(of: action),
      operand: Command.token.spec.action(word)?.operand)
    let options = try TokenOptions(action, given)
    try options.check()
    return options
  }

  private func check() throws(UsageError) {
    switch action {
    case .create where (client == nil) == (role == nil):
      throw UsageError("give --client NAME or --role read|steer", to: .token)
    case .create where renewableUntil != nil && (client == nil || expiresAt == nil):
      throw UsageError("--renewable-until goes with --client and --expires-at", to: .token)
    case .revoke where id == nil:
      throw UsageError("say which: waystation token revoke ID", to: .token)
    case .derive where key == nil || client == nil:
      throw UsageError("give --key NAME and --client NAME", to: .token)
    default: break
    }
  }
}

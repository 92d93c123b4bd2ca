import RelayCore

/// What `waystation token` was told.
struct TokenOptions: Equatable {
  /// What is to be done, by the word behind `token`.
  enum Action: String, CaseIterable {
    case create, list, revoke, derive, hash
  }

  var action: Action
  /// Which relay is asked; nil where the environment is to say.
  var server: String?
  /// The file that holds the operator's token; nil where the environment holds the token.
  var tokenFile: String?
  /// A PEM file with the authorities that the relay's certificate is checked against.
  var authorities: String?
  /// Whether the token may go over a network in plain sight.
  var allowsPlainHTTP = false
  var client: String?
  var role: OperatorRole?
  var label: String?
  var expiresAt: String?
  /// The token to revoke.
  var id: String?
  /// The key's name, and the file that holds its secret; nil where the environment holds it.
  var key: String?
  var secretFile: String?
  /// Whether a token is to be made, and not only digested.
  var isNew = false

  init(_ action: Action) { self.action = action }

  /// The options of an action.
  static func rules(of action: Action) -> [OptionRule] {
    let relay = [
      OptionRule("--server"), OptionRule("--token-file"), OptionRule("--ca"),
      OptionRule("--allow-plain-http", isSwitch: true),
    ]
    switch action {
    case .create:
      return relay + [
        OptionRule("--client"), OptionRule("--role"), OptionRule("--label"),
        OptionRule("--expires-at"),
      ]
    case .list: return relay + [OptionRule("--client")]
    case .revoke: return relay + [OptionRule("--id")]
    case .derive:
      return [OptionRule("--key"), OptionRule("--client"), OptionRule("--secret-file")]
    case .hash: return [OptionRule("--new", isSwitch: true), OptionRule("--token-file")]
    }
  }

  /// Reads what follows the word `token`.
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
    var rest = arguments.dropFirst()
    var options = TokenOptions(action)
    if action == .revoke, let id = rest.first, !id.hasPrefix("-") {
      options.id = id
      rest = rest.dropFirst()
    }
    try options.read(try OptionReader(rest, of: .token, taking: rules(of: action)))
    return options
  }

  private mutating func read(_ reader: OptionReader) throws(UsageError) {
    server = reader.text("--server")
    tokenFile = reader.text("--token-file")
    authorities = reader.text("--ca")
    allowsPlainHTTP = reader.has("--allow-plain-http")
    client = reader.text("--client")
    role = try reader.value("--role", expected: "read or steer", OperatorRole.init)
    label = reader.text("--label")
    expiresAt = reader.text("--expires-at")
    if let id = reader.text("--id") { self.id = id }
    key = reader.text("--key")
    secretFile = reader.text("--secret-file")
    isNew = reader.has("--new")
    try check()
  }

  private func check() throws(UsageError) {
    switch action {
    case .create where (client == nil) == (role == nil):
      throw UsageError("give --client NAME or --role read|steer", to: .token)
    case .revoke where id == nil:
      throw UsageError("say which: waystation token revoke ID", to: .token)
    case .derive where key == nil || client == nil:
      throw UsageError("give --key NAME and --client NAME", to: .token)
    default: break
    }
  }
}

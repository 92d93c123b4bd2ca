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
    let relay = CommandTable.relay
    switch action {
    case .create:
      return relay + [
        .text("--client", "NAME", "whose it is"),
        .choice("--role", ["read", "steer"], "an operator's, who may look or steer"),
        .text("--label", "TEXT", "what the token is for"),
        .text("--expires-at", "TIME", "when it ends, as in 2027-01-01T00:00:00Z"),
      ]
    case .list: return relay + [.text("--client", "NAME", "only this client's")]
    case .revoke: return relay + [.text("--id", "ID", "which one, in place of the word")]
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

import RelayServer

/// The parsed command line of `waystation store`.
enum StoreOrder: Equatable {
  /// nil if the environment names the folder.
  case check(data: String?, isJSON: Bool)
  case salvage(data: String?, to: String)
  case backup(data: String?, to: String, isJSON: Bool)
  /// Each place is a database's URL, a configuration file, or a folder.
  case move(
    from: String, to: String, passwordFile: String?, environmentFiles: [String], isJSON: Bool)
  case reopen(at: String, passwordFile: String?, environmentFiles: [String])
  /// Calls the relay that the options name.
  case rescue(to: String, OptionReader)

  private static let actions = "check, backup, rescue, salvage, move and reopen"

  /// Parses the rest of a command line.
  init(_ arguments: ArraySlice<String>) throws(UsageError) {
    guard let word = arguments.first, !word.hasPrefix("-") else {
      throw UsageError("name an action: one of \(Self.actions)", to: .store)
    }
    guard let action = Command.store.spec.action(word) else {
      throw UsageError("there is no 'store \(word)'; there is \(Self.actions)", to: .store)
    }
    // The folder is read with all of them: those that have none say what they take in its place.
    let rules = Command.store.spec.options + action.options + [CommandTable.storeFolder]
    let options = try OptionReader(arguments.dropFirst(), of: .store, taking: rules)
    switch word {
    case "check": self = .check(data: options.text("--data"), isJSON: options.has("--json"))
    case "salvage": self = try Self.salvage(options)
    case "backup":
      guard let folder = options.text("--to") else {
        throw UsageError("backup needs --to, the folder to be made", to: .store)
      }
      self = .backup(data: options.text("--data"), to: folder, isJSON: options.has("--json"))
    case "move": self = try Self.move(options)
    case "reopen": self = try Self.reopen(options)
    default: self = try Self.rescue(options)
    }
  }

  private static func salvage(_ options: OptionReader) throws(UsageError) -> StoreOrder {
    guard !options.has("--json") else {
      throw UsageError(
        "salvage writes its report into the new folder, and takes no --json", to: .store)
    }
    guard let folder = options.text("--to") else {
      throw UsageError("salvage needs --to, the folder to be made", to: .store)
    }
    return .salvage(data: options.text("--data"), to: folder)
  }

  private static func rescue(_ options: OptionReader) throws(UsageError) -> StoreOrder {
    guard !options.has("--data") else {
      throw UsageError("rescue asks a running relay, and takes no --data", to: .store)
    }
    guard let folder = options.text("--to"), folder.hasPrefix("/") else {
      throw UsageError(
        "rescue needs --to, the folder to be made on the relay's machine, from the root",
        to: .store)
    }
    return .rescue(to: folder, options)
  }

  private static func move(_ options: OptionReader) throws(UsageError) -> StoreOrder {
    guard !options.has("--data") else {
      throw UsageError("move takes --from and --to, and no --data", to: .store)
    }
    return .move(
      from: try place(options, "--from", of: "move"), to: try place(options, "--to", of: "move"),
      passwordFile: options.text("--password-file"),
      environmentFiles: options.texts("--environment-file"), isJSON: options.has("--json"))
  }

  private static func reopen(_ options: OptionReader) throws(UsageError) -> StoreOrder {
    guard !options.has("--data"), !options.has("--json") else {
      throw UsageError("reopen takes --at, and neither --data nor --json", to: .store)
    }
    return .reopen(
      at: try place(options, "--at", of: "reopen"),
      passwordFile: options.text("--password-file"),
      environmentFiles: options.texts("--environment-file"))
  }

  /// A place; no password, which others could see.
  private static func place(
    _ options: OptionReader, _ name: String, of action: String
  ) throws(UsageError) -> String {
    guard let word = options.text(name) else {
      throw UsageError(
        "\(action) needs \(name): a data folder, the postgresql:// URL of a database, or a"
          + " configuration file", to: .store)
    }
    guard StorePlace.isURL(word), hasPassword(word) else { return word }
    throw UsageError(
      "others can see a password on a command line: leave it out of the URL, and name its file by"
        + " --password-file", to: .store)
  }

  private static func hasPassword(_ url: String) -> Bool {
    let rest = url.drop { $0 != "/" }.dropFirst(2)
    let user = rest.prefix { $0 != "/" && $0 != "?" }
    let name = user.lastIndex(of: "@").map { user[..<$0] } ?? ""
    return name.contains(":") || rest.contains("password=")
  }
}

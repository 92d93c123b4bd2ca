/// The parsed command line of `waystation store`.
enum StoreOrder: Equatable {
  /// nil if the environment names the folder.
  case check(data: String?, isJSON: Bool)
  case salvage(data: String?, to: String)
  case backup(data: String?, to: String, isJSON: Bool)
  /// Calls the relay that the options name.
  case rescue(to: String, OptionReader)

  /// Parses the rest of a command line.
  init(_ arguments: ArraySlice<String>) throws(UsageError) {
    guard let word = arguments.first, !word.hasPrefix("-") else {
      throw UsageError("name an action: check, backup, rescue or salvage", to: .store)
    }
    guard let action = Command.store.spec.action(word) else {
      throw UsageError(
        "there is no 'store \(word)'; there is check, backup, rescue and salvage", to: .store)
    }
    let options = try OptionReader(
      arguments.dropFirst(), of: .store, taking: Command.store.spec.options + action.options)
    switch word {
    case "check":
      self = .check(data: options.text("--data"), isJSON: options.has("--json"))
    case "salvage":
      guard !options.has("--json") else {
        throw UsageError(
          "salvage writes its report into the new folder, and takes no --json", to: .store)
      }
      guard let folder = options.text("--to") else {
        throw UsageError("salvage needs --to, the folder to be made", to: .store)
      }
      self = .salvage(data: options.text("--data"), to: folder)
    case "backup":
      guard let folder = options.text("--to") else {
        throw UsageError("backup needs --to, the folder to be made", to: .store)
      }
      self = .backup(data: options.text("--data"), to: folder, isJSON: options.has("--json"))
    default:
      guard !options.has("--data") else {
        throw UsageError("rescue asks a running relay, and takes no --data", to: .store)
      }
      guard let folder = options.text("--to"), folder.hasPrefix("/") else {
        throw UsageError(
          "rescue needs --to, the folder to be made on the relay's machine, from the root",
          to: .store)
      }
      self = .rescue(to: folder, options)
    }
  }
}

/// What `waystation store` is asked to do.
enum StoreOrder: Equatable {
  /// nil where the environment is to say which folder.
  case check(data: String?, isJSON: Bool)
  case salvage(data: String?, to: String)
  case backup(data: String?, to: String, isJSON: Bool)

  /// Reads the rest of a command line.
  init(_ arguments: ArraySlice<String>) throws(UsageError) {
    guard let word = arguments.first, !word.hasPrefix("-") else {
      throw UsageError("say whether to check, to back up or to salvage", to: .store)
    }
    let options = try OptionReader(arguments.dropFirst(), of: .store)
    switch word {
    case "check":
      guard !options.has("--to") else {
        throw UsageError("check makes nothing, and takes no --to", to: .store)
      }
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
      throw UsageError("'\(word)' is nothing that can be done to a store", to: .store)
    }
  }
}

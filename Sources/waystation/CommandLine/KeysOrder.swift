import RelayServer

/// The parsed command line of `waystation keys`.
enum KeysOrder: Equatable {
  case list(ConfigurationSource)
  case rotate(ConfigurationSource)
  case accept(ConfigurationSource)

  /// Parses the rest of a command line.
  init(_ arguments: ArraySlice<String>) throws(UsageError) {
    guard let word = arguments.first, !word.hasPrefix("-") else {
      throw UsageError("name an action: list, rotate or accept", to: .keys)
    }
    guard Command.keys.spec.action(word) != nil else {
      throw UsageError("there is no 'keys \(word)'; there is list, rotate and accept", to: .keys)
    }
    let options = try OptionReader(arguments.dropFirst(), of: .keys)
    var source = ConfigurationSource()
    source.configPath = options.text("--config")
    source.flags.data = options.text("--data")
    source.environmentFiles = options.texts("--environment-file")
    self =
      switch word {
      case "list": .list(source)
      case "accept": .accept(source)
      default: .rotate(source)
      }
  }
}

/// The parsed command line of `waystation complete KIND PREFIX WORD…`, which the shells' scripts
/// run.
///
/// The words are those of the command line that is being typed. They name the relay to ask; all
/// else among them is passed over, since it may be half typed.
struct CompleteOrder: Equatable {
  /// The word that stands for the command; it is in no help, since no person types it.
  static let word = "complete"

  let kind: NameKind
  let prefix: String
  /// The options that name a relay, and `--client`.
  let options: OptionReader

  private static let rules =
    CommandTable.relay + [.name("--client", .clients, "only lanes of this client")]

  /// - Parameter arguments: The words after `complete`.
  init(_ arguments: ArraySlice<String>) throws(UsageError) {
    let arguments = Array(arguments)
    guard arguments.count >= 2, let kind = NameKind(rawValue: arguments[0]) else {
      throw UsageError("'\(Self.word)' is for the scripts that 'waystation completions' prints")
    }
    self.kind = kind
    prefix = arguments[1]
    options = try OptionReader(
      Self.known(among: arguments[2...])[...], of: .status, taking: Self.rules)
  }

  /// The options among a command line's words that are heeded, each with its value.
  private static func known(among words: ArraySlice<String>) -> [String] {
    var known: [String] = []
    var rest = words
    while let word = rest.popFirst() {
      let name = String(word.prefix { $0 != "=" })
      guard let rule = rules.first(where: { $0.name == name }) else { continue }
      if rule.isSwitch {
        known.append(name)
      } else if word.contains("=") {
        known.append(word)
      } else if let value = rest.popFirst(), !value.isEmpty {
        known.append("\(name)=\(value)")
      }
    }
    return known
  }
}

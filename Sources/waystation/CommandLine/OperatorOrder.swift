/// The parsed command line of a command that calls a relay.
struct OperatorOrder: Equatable {
  /// The commands whose command lines are parsed by the table alone.
  static let commands: [Command] = [
    .status, .envelopes, .clients, .lanes, .uploads, .upstreams, .events, .operations, .audit,
    .send,
    .export, .importing,
  ]

  let command: Command
  /// The action; empty for a command without actions.
  let action: String
  let options: OptionReader

  /// The command as people type it.
  var name: String { action.isEmpty ? command.rawValue : "\(command.rawValue) \(action)" }

  init(_ command: Command, _ arguments: ArraySlice<String>) throws(UsageError) {
    let spec = command.spec
    self.command = command
    guard !spec.actions.isEmpty else {
      action = ""
      options = try OptionReader(arguments, of: command, operand: spec.operand)
      try check()
      return
    }
    let words = spec.actions.map(\.name)
    guard let word = arguments.first, !word.hasPrefix("-") else {
      throw UsageError("say what to do: \(words.joined(separator: ", "))", to: command)
    }
    guard let found = spec.action(word) else {
      throw UsageError(
        "there is no '\(command.rawValue) \(word)'; there is \(words.joined(separator: ", "))",
        to: command)
    }
    action = word
    options = try OptionReader(
      arguments.dropFirst(), of: command, taking: spec.options + found.options,
      operand: found.operand)
    try check()
  }

  /// The value of an option that is a number in a range; nil if it was not given.
  func number(_ name: String, _ range: ClosedRange<Int>) throws(UsageError) -> Int? {
    try options.value(name, expected: "a number from \(range.lowerBound) to \(range.upperBound)") {
      Int($0).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  /// The value of an option that is a duration, in milliseconds; nil if it was not given.
  func milliseconds(_ name: String) throws(UsageError) -> Int64? {
    try options.value(name, expected: DurationText.form, DurationText.milliseconds)
  }

  /// Checks all that can be checked without calling the relay.
  private func check() throws(UsageError) {
    _ = try number("--limit", 0...1_000_000_000)
    _ = try number("--batch", 1...1000)
    _ = try milliseconds("--for")
    if let every = try milliseconds("--every"), every < 100 {
      throw UsageError("--every takes 100ms or more", to: command)
    }
    if options.has("--every"), !options.has("--watch") {
      throw UsageError("--every says how often, and goes with --watch", to: command)
    }
    for header in options.texts("--header") where !header.contains(":") {
      throw UsageError("--header takes 'NAME: VALUE', not '\(header)'", to: command)
    }
    if command == .send { try SendOptions.check(options) }
    if action == "edit", options.has("--patch"), options.has("--body") || options.has("--header") {
      throw UsageError("--patch says it all; give it alone", to: command)
    }
  }
}

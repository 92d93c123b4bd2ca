import Glibc

/// What a command was told, and where it writes.
struct CommandContext {
  let order: OperatorOrder
  let terminal: Terminal

  var options: OptionReader { order.options }
  var isJSON: Bool { options.has("--json") }

  /// The `--server` that was given, as a shell reads it, for a hint at another command.
  ///
  /// It begins with a blank, and is empty if none was given.
  var serverOption: String {
    guard let server = options.text("--server") else { return "" }
    return " --server " + SafeText.line(ShellWord.quoted(server))
  }

  /// Writes a line on standard output.
  func say(_ line: String) { StandardStream.output.line(line) }

  /// Writes a table on standard output.
  func say(_ table: TextTable) {
    say(table.lines(on: terminal).joined(separator: "\n"))
  }

  /// Writes a sentence on standard error.
  func note(_ sentence: String) {
    StandardStream.error.line("waystation \(order.name): \(sentence)")
  }

  func tell(_ failure: OperatorFailure) { note(failure.reason) }

  /// Whether a person agrees to something that cannot be taken back, or `--yes` was given.
  ///
  /// - Parameter deed: The act in words, as in `replay 3 envelopes`.
  /// - Throws: ``OperatorFailure`` where nobody can be asked.
  func mayDo(_ deed: String) throws(OperatorFailure) -> Bool {
    guard !options.has("--yes") else { return true }
    guard isatty(0) == 1, !isJSON else {
      throw OperatorFailure(
        reason: "this would \(deed); give --yes to have it done", code: .usage)
    }
    StandardStream.error.write(Array("\(deed)? [y/N] ".utf8))
    return ["y", "yes"].contains(readLine()?.lowercased() ?? "")
  }

  /// A name as a segment of a path.
  static func segment(_ name: String) -> String { TokenText.percentEncoded(name) }

  /// A query of those options that were given, by their names there.
  func query(_ names: [(option: String, field: String)], more: [String] = []) -> String {
    let given = names.compactMap { name in
      options.text(name.option).map { "\(name.field)=\(TokenText.percentEncoded($0))" }
    }
    let all = given + more
    return all.isEmpty ? "" : "?" + all.joined(separator: "&")
  }
}

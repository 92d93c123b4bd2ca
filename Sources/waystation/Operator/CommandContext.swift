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
    let isPlain = server.utf8.allSatisfy { TokenText.isPathByte($0) || "/:".utf8.contains($0) }
    let quoted =
      "'"
      + server.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: "'\\''") + "'"
    return " --server " + SafeText.line(isPlain ? server : quoted)
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
